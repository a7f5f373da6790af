// A server that speaks S3, for tests: keeps its objects in a directory, prints the port it listens
// on, and ends when its input does, so that it never outlives who started it. An interrupt has it
// vanish: all connections are reset, and what it had whole by then is stored, as S3 would have it.
//
//   node --openssl-legacy-provider server.js PACKAGE_FOLDER DIRECTORY [PORT [KEY_FILE CERTIFICATE_FILE]]
//
// Port 0 is any that is free. With a key and its certificate it speaks https.
'use strict';
const { promises: fs, readFileSync } = require('fs');
const path = require('path');
const [packages, directory, port, key, certificate] = process.argv.slice(2);
const S3rver = require(`${packages}/node_modules/@20minutes/s3rver`);
const server = new S3rver({
  address: '127.0.0.1',
  port: Number(port || 0),
  directory,
  silent: true,
  vhostBuckets: false,
  ...(key && { key: readFileSync(key), cert: readFileSync(certificate) }),
});

// S3 replaces objects at once and takes only whole ones. This server's own way is to write over an
// object's file, then over what describes it, however much of the body has come.
const store = server.store;
const { getObject, listObjects, putContent } = store;
let last = Promise.resolve();
let parts = 0;
let storing = 0;
const alone = (action) => (last = last.then(action, action));

store.putContent = async function (target, content) {
  const part = path.join(directory, `part-${++parts}`);
  const [size, md5] = await putContent.call(this, part, content);
  const promised = content.headers && content.headers['content-length'];
  if (promised !== undefined && Number(promised) !== size) throw new Error('the body is cut');
  await alone(() => fs.rename(part, target));
  return [size, md5];
};
const storeObject = async function (object) {
  const target = this.getResourcePath(object.bucket, object.key, 'object');
  const written = path.join(directory, `object-${++parts}`);
  await fs.mkdir(path.dirname(target), { recursive: true });
  const [size, md5] = await this.putContent(written, object.content);
  await alone(async () => {
    await fs.rename(written, target);
    await this.putMetadata(object.bucket, object.key, object.metadata, md5);
  });
  return { size, md5 };
};
store.putObject = async function (object) {
  ++storing;
  try {
    return await storeObject.call(this, object);
  } finally {
    --storing;
  }
};
store.getObject = (...question) => alone(() => getObject.apply(store, question));
store.listObjects = (...question) => alone(() => listObjects.apply(store, question));

const connections = new Set();
process.on('SIGINT', () => {
  server.httpServer.removeAllListeners('close').close(); // its logger is used to the end
  for (const connection of connections) connection.resetAndDestroy();
  setInterval(() => storing || process.exit(0), 1);
});
server.run().then(({ port }) => {
  server.httpServer.on('connection', (connection) => {
    connections.add(connection);
    connection.on('close', () => connections.delete(connection));
  });
  console.log(port);
});
process.stdin.on('end', () => process.exit(0)).resume();
