#include "../../s3/src/replies.h"

#include <gmock/gmock.h>

#include "../../s3/src/identity.h"
#include "../../s3/src/xml.h"

namespace cupel::s3_detail {
namespace {

using ::testing::ElementsAre;

/// "path=text" of every element.
std::vector<std::string> elements(std::string_view document) {
  std::vector<std::string> found;
  read_xml(document, [&](std::string_view path, std::string_view text) {
    found.push_back(std::string(path) + "=" + std::string(text));
  });
  return found;
}

TEST(Xml, elements_are_told_when_they_end) {
  EXPECT_THAT(elements("<?xml version='1.0'?><a x='1'><b>1</b><!-- c --><d/></a>\n"),
              ElementsAre("a/b=1", "a/d=", "a="));
}

TEST(Xml, prefixes_are_passed_over_and_entities_resolved) {
  EXPECT_THAT(elements("<s:a xmlns:s='u'>&lt;&amp;&gt;&quot;&apos;&#65;&#x20AC;</s:a>"),
              ElementsAre("a=<&>\"'A\xe2\x82\xac"));
  EXPECT_THAT(elements("<a><![CDATA[<&amp;>]]></a>"), ElementsAre("a=<&amp;>"));
}

class BrokenXml : public ::testing::TestWithParam<std::string> {};

TEST_P(BrokenXml, is_refused) {
  EXPECT_FALSE(read_xml(GetParam(), [](std::string_view, std::string_view) {})) << GetParam();
}

std::string nested(int depth) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += "<a>";
  for (int i = 0; i < depth; ++i) text += "</a>";
  return text;
}

INSTANTIATE_TEST_SUITE_P(S3, BrokenXml,
                         ::testing::Values("", " ", "text", "<", "<>", "</>", "</a>", "<a>", "<a",
                                           "<a/", "<a></b>", "<a><b></a></b>", "<a/><b/>",
                                           "<a/>text", "<a>&", "<a>&unknown;</a>", "<a>&#0;</a>",
                                           "<a>&#xD800;</a>", "<a>&#x110000;</a>", "<a>&#;</a>",
                                           "<a>&#99999999999999;</a>",
                                           "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
                                           "<a><![CDATA[</a>", "<![CDATA[x]]>", "<a><!-- </a>",
                                           "<?xml <a/>", nested(17), std::string(100'000, '<')));

const std::string kListing =
    "<ListBucketResult><IsTruncated>true</IsTruncated>"
    "<NextContinuationToken>t&amp;1</NextContinuationToken>"
    "<Contents><Key>a%2Fb+c%26</Key><LastModified>2009-10-28T22:32:00.123Z</LastModified>"
    "<ETag>&quot;e1&quot;</ETag><Size>5</Size></Contents>"
    "<EncodingType>url</EncodingType></ListBucketResult>";

TEST(Listing, is_read_with_its_token) {
  const auto reply = read_listing(kListing);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->next, "t&1");
  ASSERT_EQ(reply->objects.size(), 1U);
  EXPECT_EQ(reply->objects[0].name, "a/b c&");
  EXPECT_EQ(reply->objects[0].size, 5U);
  EXPECT_EQ(reply->objects[0].etag, "\"e1\"");
  EXPECT_EQ(reply->objects[0].changed, "Wed, 28 Oct 2009 22:32:00 GMT");
}

TEST(Listing, names_that_were_not_encoded_are_taken_as_they_are) {
  const auto reply = read_listing(
      "<ListBucketResult><Contents><Key>a%2+&amp;lt;</Key><Size>5</Size></Contents>"
      "</ListBucketResult>");
  EXPECT_EQ(reply.value().objects.at(0).name, "a%2+&lt;");
}

TEST(Listing, that_is_cut_anywhere_is_none) {
  for (std::size_t size = 0; size < kListing.size(); ++size)
    EXPECT_FALSE(read_listing(kListing.substr(0, size))) << size;
}

class BrokenListing : public ::testing::TestWithParam<std::string> {};

TEST_P(BrokenListing, is_none) {
  EXPECT_FALSE(read_listing("<ListBucketResult>" + GetParam() + "</ListBucketResult>"));
}

INSTANTIATE_TEST_SUITE_P(
    S3, BrokenListing,
    ::testing::Values("<IsTruncated>true</IsTruncated>",
                      "<NextContinuationToken>t</NextContinuationToken>",
                      "<Contents><Key>a</Key></Contents>", "<Contents><Size>1</Size></Contents>",
                      "<Contents><Key>a</Key><Size>-1</Size></Contents>",
                      "<Contents><Key>a</Key><Size>1x</Size></Contents>",
                      "<Contents><Key>a</Key><Size>99999999999999999999</Size></Contents>",
                      "<EncodingType>url</EncodingType><Contents><Key>%4</Key><Size>1</Size>"
                      "</Contents>",
                      "<EncodingType>url</EncodingType><Contents><Key>%zz</Key><Size>1</Size>"
                      "</Contents>"));

TEST(Listing, another_document_is_none) {
  EXPECT_FALSE(read_listing("<Error><Code>InternalError</Code></Error>"));
}

TEST(Identity, does_not_depend_on_where_it_was_told) {
  EXPECT_EQ(identity_of("\"e\"", "t"), identity_of("e", "t"));
  EXPECT_NE(identity_of("e", "t"), identity_of("f", "t"));
}

TEST(Identity, times_that_are_none_are_empty) {
  for (const char* text : {"", "2009", "2009-13-28T22:32:00Z", "2009-10-28 22:32:00Z",
                           "2009-10-xxT22:32:00Z", "2009-10-28Txx:32:00Z"})
    EXPECT_EQ(whole_seconds(text), "") << text;
}

}  // namespace
}  // namespace cupel::s3_detail
