"""Fields are those that protobuf's own library reads."""

from __future__ import annotations

import pytest

from fireassay.reports.exports.support import protobuf
from tests.exporting import opentelemetry


def test_fields_are_read_by_protobufs_own_classes() -> None:
    metrics = opentelemetry("metrics")
    point = protobuf.double(4, -2.5) + protobuf.fixed(3, 2**63 + 1) + protobuf.whole(8, 300)
    read = metrics.NumberDataPoint.FromString(point)
    assert (read.as_double, read.time_unix_nano, read.flags) == (-2.5, 2**63 + 1, 300)
    histogram = protobuf.packed(6, "Q", (0, 7)) + protobuf.packed(7, "d", (0.25,))
    read = metrics.HistogramDataPoint.FromString(histogram)
    assert (list(read.bucket_counts), list(read.explicit_bounds)) == ([0, 7], [0.25])


@pytest.mark.parametrize("number", [0, 1, 127, 128, 2**63 - 1, -1, -(2**63)])
def test_whole_numbers_of_any_sign_are_kept(number: int) -> None:
    assert opentelemetry("common").AnyValue.FromString(protobuf.whole(3, number)).int_value == number


def test_half_a_character_becomes_a_question_mark() -> None:
    assert opentelemetry("common").AnyValue.FromString(protobuf.text(1, "µ\ud800")).string_value == "µ?"


def test_a_message_is_read_as_the_library_writes_it() -> None:
    written = opentelemetry("trace").Status(message="no", code=2).SerializeToString()
    assert dict(protobuf.fields(written)) == {2: b"no", 3: 2}


@pytest.mark.parametrize("message", [b"\x0a\xff", b"<html>", b"\x80" * 11, b"\x0b"])
def test_what_is_no_message_is_refused(message: bytes) -> None:
    with pytest.raises(ValueError, match="not a protobuf message"):
        dict(protobuf.fields(message))
