"""Collections by name, as a hook holds them until its first step."""

from __future__ import annotations

import json
import os
from typing import Any, Optional, Union

from .. import _native
from ..exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError

__all__ = ["CollectionManager"]


def copy_of(collection: _native.Collection, kind: type = _native.Collection) -> Any:
    """A collection of the class `kind` with the contents of another one."""
    return kind(
        collection.name,
        include_regex=collection.include_regex,
        tensor_names=collection.tensor_names,
        reduction_config=collection.reduction_config,
        save_config=collection.save_config,
        save_histogram=collection.save_histogram,
    )


class CollectionManager:
    """Collections by name. Two managers with equal collections are equal.

    `collections` is the mapping that the manager works on, by default a new one. With
    `create_default` it begins with the built-in collections of `profile`. Collections that are
    created are of `collection_class`.
    """

    def __init__(
        self,
        collections: Optional[dict[str, _native.Collection]] = None,
        create_default: bool = False,
        *,
        collection_class: type = _native.Collection,
        profile: _native.Profile = _native.Profile.GENERIC,
    ) -> None:
        self.collections = {} if collections is None else collections
        self._collection_class = collection_class
        self._num_workers = 1
        if create_default:
            for name, collection in _native.builtin_collections(profile).items():
                self.collections.setdefault(name, copy_of(collection, collection_class))

    def create_collection(self, name: str) -> None:
        """Creates the collection `name` unless it exists."""
        if name not in self.collections:
            self.collections[name] = self._collection_class(name)

    def get(self, name: str, create: bool = True) -> _native.Collection:
        """The collection `name`, which is created if it is missing.

        Raises SMDebugError for a missing one when `create` is false.
        """
        if name not in self.collections:
            if not create:
                raise SMDebugError(f"there is no collection {name}")
            self.create_collection(name)
        return self.collections[name]

    def add(self, arg: Union[str, _native.Collection]) -> None:
        """Adds a collection in the place of the one of its name, or creates a named one."""
        if isinstance(arg, str):
            self.create_collection(arg)
        elif isinstance(arg, _native.Collection):
            self.collections[arg.name] = arg
        else:
            raise SMDebugTypeError(f"a collection or a name is needed, not {type(arg).__name__}")

    def get_collections(self) -> dict[str, _native.Collection]:
        """The collections by name; changes of the mapping are changes of the manager."""
        return self.collections

    def get_num_workers(self) -> int:
        """The number of workers, as an exported file has it."""
        return self._num_workers

    def set_num_workers(self, num_workers: int) -> None:
        self._num_workers = int(num_workers)

    def to_json_dict(self) -> dict[str, Any]:
        """The collections as `export` writes them."""
        return {
            "collections": {name: each.to_json_dict() for name, each in self.collections.items()},
            "_meta": {"num_workers": self._num_workers},
        }

    def export(self, out_dir: str, filename: str) -> None:
        """Writes the collections to `<out_dir>/collections/000000000/<filename>`.

        Where that is the file of a worker in a run of cupel, the run gets these collections. Raises
        SMDebugValueError while the worker writes.
        """
        if _native.replace_collections(
            os.fsencode(out_dir), filename, list(self.collections.values())
        ):
            return
        folder = os.path.join(out_dir, "collections", "000000000")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, filename), "w", encoding="utf-8") as file:
            json.dump(self.to_json_dict(), file)

    @classmethod
    def load(
        cls, filename: str, collection_class: type = _native.Collection
    ) -> CollectionManager:
        """Reads a file that `export` wrote. Raises SMDebugValueError for another one."""
        with open(filename, encoding="utf-8") as file:
            text = file.read()
        try:
            content = json.loads(text)
            manager = cls(collection_class=collection_class)
            for each in content["collections"].values():
                read = _native.Collection.from_json(json.dumps(each))
                manager.add(copy_of(read, collection_class))
            manager.set_num_workers(content.get("_meta", {}).get("num_workers", 1))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise SMDebugValueError(f"{filename} is no file of collections: {error}") from error
        return manager

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CollectionManager):
            return NotImplemented
        return self.collections == other.collections

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"CollectionManager({sorted(self.collections)})"
