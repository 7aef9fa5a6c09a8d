"""Recorded readings are the chain's, and bad files are refused."""

import json
import zlib

import numpy as np
import pytest

import gped
from tests.helpers import TINY_CONV, TINY_DENSE, random_images, same


@pytest.mark.parametrize("architecture", [TINY_DENSE, TINY_CONV], ids=["dense", "conv"])
def test_a_recording_is_the_chain_bit_for_bit(architecture, make_chain, tmp_path):
    live = list(make_chain(architecture))
    recording = gped.record(make_chain(architecture), tmp_path / "readings", notes={"cell": "tiny"})
    assert recording.notes == {"cell": "tiny"}
    for _ in range(2):  # as often as one likes
        assert all(same(*pair) for pair in zip(recording, live, strict=True))
    assert not list(tmp_path.glob("*.part"))


def test_a_file_can_be_read_while_it_grows(make_chain, tmp_path):
    chain, path = make_chain(), tmp_path / "readings"
    live = list(make_chain())
    recorder = gped.Recorder(path, chain)
    for count, reading in enumerate(chain, 1):
        recorder.append(reading)
        if count == 5:
            recorder.flush()
            with path.open("ab") as file:
                file.write(b"half a record")
            recording = gped.Recording(path, chain.inputs)
            assert recording.available == recording.info.due[:5]
            assert all(same(*pair) for pair in zip(recording, live[:5], strict=True))
            break
    recorder.close()


def test_a_student_is_not_trained_on_a_truncated_recording(make_chain, tmp_path):
    recording = gped.record(make_chain(), tmp_path / "readings")
    content = recording.path.read_bytes()
    recording.path.write_bytes(content[:-1])
    spec = gped.joint(TINY_DENSE, classes=3, steps=60, thinning=2)
    with pytest.raises(ValueError, match=r"needs all readings from step 12 to 60, but .* from 12 to 58: .* truncated"):
        gped.distill(recording, [spec])


@pytest.mark.parametrize("position", [-1, -30, -200])
def test_a_damaged_reading_is_noticed(position, make_chain, tmp_path):
    recording = gped.record(make_chain(), tmp_path / "readings")
    content = bytearray(recording.path.read_bytes())
    content[position] ^= 1
    recording.path.write_bytes(content)
    with pytest.raises(ValueError, match=r"readings: reading 24 of 25 is damaged.*run the chain again"):
        list(recording)


@pytest.mark.parametrize(
    "content",
    [b"", b"GPED", b"PK\x03\x04 something else altogether", b"GPEDREAD" + b"\xff" * 20],
    ids=["empty", "short", "foreign", "absurd"],
)
def test_a_foreign_file_is_refused(content, tmp_path):
    path = tmp_path / "readings"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="readings is not a file of readings"):
        gped.Recording(path, random_images(TINY_DENSE, 40))


def test_a_truncated_header_is_refused(make_chain, tmp_path):
    recording = gped.record(make_chain(), tmp_path / "readings")
    recording.path.write_bytes(recording.path.read_bytes()[:40])
    with pytest.raises(ValueError, match="header is truncated or damaged"):
        gped.Recording(recording.path, random_images(TINY_DENSE, 40))


def test_a_recording_is_opened_with_its_own_inputs_only(make_chain, tmp_path):
    recording = gped.record(make_chain(), tmp_path / "readings")
    with pytest.raises(ValueError, match="about 40 other inputs than the 39"):
        gped.Recording(recording.path, random_images(TINY_DENSE, 39))
    images = make_chain().inputs.images
    for other in (images.flip(0), gped.Inputs(images, gped.Scaling((0.1,), (1.0,)))):
        with pytest.raises(ValueError, match="or they are scaled differently"):
            gped.Recording(recording.path, other)


def test_a_chain_that_has_already_spoken_does_not_replace_a_recording(make_chain, tmp_path):
    chain = make_chain()
    recording = gped.record(chain, tmp_path / "readings")
    before = recording.path.read_bytes()
    with pytest.raises(ValueError, match="the chain has already passed some of its readings"):
        gped.record(chain, tmp_path / "readings")
    assert recording.path.read_bytes() == before


def test_only_the_reading_that_is_due_can_be_appended(make_chain, tmp_path):
    chain = make_chain()
    with gped.Recorder(tmp_path / "readings", make_chain()) as recorder:
        first, second, *_ = chain
        with pytest.raises(ValueError, match=r"the reading at step 14 .* is not the one that is due, at step 12"):
            recorder.append(second)
    short = first._replace(said=first.said[:1])
    with (
        gped.Recorder(tmp_path / "readings", make_chain()) as recorder,
        pytest.raises(ValueError, match=r"shape \(1, 3\) is not the one that is due"),
    ):
        recorder.append(short)


@pytest.mark.parametrize(
    "header",
    [b"17", b"\xff\xfe", b"{}", b"[" * 100_000, b'{"inputs": ' + b"[" * 100_000],
    ids=["a number", "no text", "empty", "deep", "deeper"],
)
def test_a_header_of_nonsense_is_refused(header, tmp_path):
    path = tmp_path / "readings"
    path.write_bytes(_head(header))
    with pytest.raises(ValueError, match="readings: its header is truncated or damaged"):
        gped.Recording(path, random_images(TINY_DENSE, 40))


def _head(header: bytes) -> bytes:
    return b"GPEDREAD" + len(header).to_bytes(8, "little") + header + zlib.crc32(header).to_bytes(4, "little")


def _with_header(content: bytes, **changes: object) -> bytes:
    """The same readings under a header that says something else, and has the right checksum."""
    length = int.from_bytes(content[8:16], "little")
    header = json.loads(content[16 : 16 + length]) | changes
    return _head(json.dumps(header).encode()) + content[16 + length + 4 :]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"last_step": 10**30}, "last_step of the readings is 1000000000000000000000000000000: it must be at most"),
        ({"steps": 10**30, "last_step": 10**30}, "steps of the readings is 10+: it must be at most"),
        ({"size": 10**12}, "size of the readings is 1000000000000: it must be at most"),
        (
            {"size": 10**6, "values": 10**6},
            "a reading of 1000000 values for each of 1000000 inputs would take over 2 GB",
        ),
        ({"inputs": 10**12}, "inputs of the readings is 1000000000000: it must be at most"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_header_that_asks_for_the_impossible_is_refused(changes, sentence, make_chain, tmp_path):
    path = gped.record(make_chain(), tmp_path / "readings").path
    path.write_bytes(_with_header(path.read_bytes(), **changes))
    with pytest.raises(ValueError, match=rf"readings: its header is truncated or damaged \({sentence}"):
        gped.Recording(path, make_chain().inputs)


def test_a_bit_that_flipped_in_the_header_is_noticed(make_chain, tmp_path):
    """A burn-in of 11 instead of 10 steps would give the same readings, and another schedule of learning rates."""
    path = gped.record(make_chain(), tmp_path / "readings").path
    content = path.read_bytes()
    assert b'"burn_in": 10,' in content
    path.write_bytes(content.replace(b'"burn_in": 10,', b'"burn_in": 11,'))
    with pytest.raises(ValueError, match=r"header is truncated or damaged .*checksum"):
        gped.Recording(path, make_chain().inputs)


@pytest.mark.parametrize("index", [40, -1, 2**31 - 1])
def test_a_reading_about_an_input_that_is_not_there_is_refused(index, make_chain, tmp_path):
    """U_o would write beyond its table, or to the wrong end of it."""
    recording = gped.record(make_chain(), tmp_path / "readings")
    content = bytearray(recording.path.read_bytes())
    size = recording.info.record.itemsize
    record = np.frombuffer(bytes(content[-size:]), recording.info.record).copy()
    record["indices"][0, 3] = index
    record["checksum"] = zlib.crc32(record.tobytes()[:-4])
    content[-size:] = record.tobytes()
    recording.path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"readings: reading 24 of 25 is about inputs .*{index}.* there are only 40"):
        list(recording)


def test_the_format_is_what_its_description_says(make_chain, tmp_path):
    """Read without the library: magic, header length, JSON, records."""
    chain = make_chain()
    path = gped.record(chain, tmp_path / "readings").path
    content = path.read_bytes()
    length = int(np.frombuffer(content, "<u8", 1, 8)[0])
    header = json.loads(content[16 : 16 + length])
    assert content[:8] == b"GPEDREAD"
    assert (header["size"], header["likelihood"], header["values"]) == (15, "categorical", 3)
    assert content[16 + length :][:4] == zlib.crc32(content[16 : 16 + length]).to_bytes(4, "little")
    first = content[16 + length + 4 :][: 8 + 15 * 4 + 15 * 3 * 4 + 4]
    log_p = np.frombuffer(first, "<f4", 45, 8 + 60).reshape(15, 3)
    assert int.from_bytes(first[:8], "little") == 12
    np.testing.assert_allclose(np.exp(log_p).sum(1), 1, rtol=1e-5)


def test_running_after_a_step_yields_only_later_readings(make_chain, tmp_path):
    recording = gped.record(make_chain(), tmp_path / "readings")
    live = list(make_chain())
    for after in (0, 11, 12, 13, 40, 59, 60, 100):
        later = list(recording.run(after=after))
        expected = [reading for reading in live if reading.step > after]
        assert [step for step, _ in later] == [reading.step for reading in expected]
        assert all(same(reading, other) for (_, reading), other in zip(later, expected, strict=True))
