"""Recorded readings are the chain's, and bad files are refused."""

import json

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
    short = first._replace(log_probabilities=first.log_probabilities[:1])
    with (
        gped.Recorder(tmp_path / "readings", make_chain()) as recorder,
        pytest.raises(ValueError, match=r"shape \(1, 3\) is not the one that is due"),
    ):
        recorder.append(short)


@pytest.mark.parametrize("header", [b"17", b"\xff\xfe", b"{}"])
def test_a_header_of_nonsense_is_refused(header, tmp_path):
    path = tmp_path / "readings"
    path.write_bytes(b"GPEDREAD" + len(header).to_bytes(8, "little") + header)
    with pytest.raises(ValueError, match="readings: its header is truncated or damaged"):
        gped.Recording(path, random_images(TINY_DENSE, 40))


def test_the_format_is_what_its_description_says(make_chain, tmp_path):
    """Read without the library: magic, header length, JSON, records."""
    chain = make_chain()
    path = gped.record(chain, tmp_path / "readings").path
    content = path.read_bytes()
    length = int(np.frombuffer(content, "<u8", 1, 8)[0])
    header = json.loads(content[16 : 16 + length])
    assert content[:8] == b"GPEDREAD"
    assert (header["size"], header["classes"]) == (15, 3)
    first = content[16 + length :][: 8 + 15 * 4 + 15 * 3 * 4 + 4]
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
