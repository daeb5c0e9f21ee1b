"""Reads and writes safetensors files in Python, strictly, for tests.

Written from the format's description alone, with struct, json and numpy, so
that it shares nothing with base/safetensors/safetensors.h. numpy has no bfloat16: a BF16
tensor is read as uint16 bits and written with `bfloat16={"name"}`.

    write("in.safetensors", {"query": numpy.zeros((2, 3))})
    tensors, metadata = read("in.safetensors")
"""

import json
import struct

import numpy

DTYPES = {
    "F64": numpy.dtype("<f8"),
    "F32": numpy.dtype("<f4"),
    "F16": numpy.dtype("<f2"),
    "BF16": numpy.dtype("<u2"),
    "I64": numpy.dtype("<i8"),
    "I32": numpy.dtype("<i4"),
    "I16": numpy.dtype("<i2"),
    "I8": numpy.dtype("i1"),
    "U64": numpy.dtype("<u8"),
    "U32": numpy.dtype("<u4"),
    "U16": numpy.dtype("<u2"),
    "U8": numpy.dtype("u1"),
    "BOOL": numpy.dtype("?"),
}


def dumps(tensors, metadata=None, bfloat16=()):
    """The bytes of a file."""
    header = {}
    if metadata:
        header["__metadata__"] = metadata
    data = b""
    for name, array in tensors.items():
        array = numpy.asarray(array)
        if name in bfloat16:
            assert array.dtype == numpy.uint16
            dtype = "BF16"
        else:
            dtype = next(key for key, value in DTYPES.items()
                         if value == array.dtype)
        content = array.tobytes(order="C")
        header[name] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    text = json.dumps(header).encode("utf-8")
    return struct.pack("<Q", len(text)) + text + data


def write(path, tensors, metadata=None, bfloat16=()):
    with open(path, "wb") as file:
        file.write(dumps(tensors, metadata, bfloat16))


def _unique(pairs):
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names), "duplicate names"
    return dict(pairs)


def loads(content):
    """(tensors, metadata) of a file's bytes; AssertionError if malformed."""
    (length,) = struct.unpack_from("<Q", content)
    text, data = content[8:8 + length], content[8 + length:]
    assert len(text) == length and text[:1] == b"{"
    header = json.loads(text.decode("utf-8"), object_pairs_hook=_unique)
    metadata = header.pop("__metadata__", {})
    assert all(isinstance(value, str) for value in metadata.values())
    tensors = {}
    covered = 0
    for name, entry in sorted(header.items(),
                              key=lambda item: item[1]["data_offsets"]):
        assert set(entry) == {"dtype", "shape", "data_offsets"}
        begin, end = entry["data_offsets"]
        assert begin == covered and end <= len(data), "a gap or an overlap"
        dtype = DTYPES[entry["dtype"]]
        # What keeps a reader that maps the file from misaligned loads.
        assert begin % dtype.itemsize == 0 and length % 8 == 0, "alignment"
        tensors[name] = numpy.frombuffer(data[begin:end], dtype).reshape(
            entry["shape"])
        covered = end
    assert covered == len(data), "trailing bytes"
    return tensors, metadata


def read(path):
    with open(path, "rb") as file:
        return loads(file.read())
