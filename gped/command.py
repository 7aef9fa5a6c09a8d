"""The command line: gped distill, gped predict, gped export, gped status."""

import argparse
import logging
import os
import shlex
import sys
import time
from pathlib import Path

from gped.data.images import DataError
from gped.support.files import replacing

SOME_LEFT_OUT = 3
"""The exit code where some images could not be read."""


def main() -> None:
    """Run a command; what goes wrong is told in a sentence."""
    parser = argparse.ArgumentParser(prog="gped", description="Posterior expectation distillation.")
    parser.add_argument("--version", action=_Version, nargs=0, help="the version of gped")
    commands = parser.add_subparsers(dest="command", required=True)
    distill = commands.add_parser(
        "distill",
        help="a student from a folder of labelled images",
        epilog="A run that was killed goes on with the same command. The exit code is 0 if all images were read, 3 if "
        "some could not be and are left out, 1 if there is no student.",
    )
    distill.add_argument("images", type=Path, help="a folder in which each class has a folder of its images")
    distill.add_argument("student", type=Path, help="the .safetensors file to write")
    distill.add_argument("--steps", type=int, help="length of the chain, if you have more time or less")
    distill.add_argument("--size", metavar="PIXELS", help="in which images are looked at, such as 28 or 32x24")
    distill.add_argument(
        "--unlabelled",
        type=Path,
        action="append",
        default=[],
        metavar="FOLDER",
        help="further images that look like what the student will be asked about; may be repeated",
    )
    distill.add_argument("--seed", type=int, default=0, help="of what is held out, and of all else that is random")
    distill.add_argument("--force", action="store_true", help="replace the file if it is there")
    status = commands.add_parser("status", help="how far a run of the workflow is")
    status.add_argument("run", type=Path, help="its folder, results/<run>")
    status.add_argument(
        "--watch", type=float, nargs="?", const=5.0, metavar="SECONDS", help="repeat it so often, until the run ends"
    )
    predict = commands.add_parser(
        "predict",
        help="what a student says of images, as CSV",
        epilog="The exit code is 0 if all images were read, 3 if some could not be and are left out, 1 if none could.",
    )
    predict.add_argument("student", type=Path, help="a student's .safetensors file")
    predict.add_argument("images", type=Path, nargs="+", help="images, or folders of images")
    predict.add_argument("--output", type=Path, metavar="CSV", help="where to write it; standard output unless given")
    export = commands.add_parser("export", help="a student as an ONNX file")
    export.add_argument("student", type=Path, help="a student's .safetensors file")
    export.add_argument("output", type=Path, metavar="ONNX", help="the file to write")
    arguments = parser.parse_args()
    code = 0
    try:
        if arguments.command == "distill":
            code = write_student(arguments)
        elif arguments.command == "status":
            tell_status(arguments.run, arguments.watch)
        elif arguments.command == "predict":
            code = write_prediction(arguments.student, arguments.images, arguments.output)
        else:
            write_onnx(arguments.student, arguments.output)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has enough, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, ImportError, DataError) as error:
        sys.exit(f"gped {arguments.command}: {_sentence(error)}")
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(code)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:  # the system's, not ours
        return f"cannot use {error.filename}: {error.strerror}."
    return str(error)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Tell the version and leave; looked up only now, because that takes its time."""
        from importlib.metadata import version

        print(f"gped {version('gped')}")
        parser.exit()


def write_student(given: argparse.Namespace) -> int:
    """Distil from a folder of images; the exit code."""
    from gped.sampling.chain import ChainDivergedError
    from gped.students.learner import StudentDivergedError
    from gped.training.run import distill_folder

    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    logging.getLogger("gped").setLevel(logging.INFO)  # ours alone: libraries tell more than anybody wants to know
    options = {"size": given.size, "steps": given.steps, "unlabelled": given.unlabelled, "seed": given.seed}
    try:
        refused = distill_folder(given.images, given.student, **options, force=given.force)
    except (ChainDivergedError, StudentDivergedError) as error:
        raise ValueError(str(error)) from error
    return SOME_LEFT_OUT if refused else 0


def tell_status(run: Path, every: float | None) -> None:
    """Print how far a run is, once, or repeatedly until it ends."""
    from gped.support.status import status, succeeded

    while True:
        ended = succeeded(run) is not None  # before the rest, so that what is told last is of the end
        text = status(run)
        print(f"\033[H\033[J{text}" if every and sys.stdout.isatty() else text, flush=True)
        if not every or ended:
            return
        time.sleep(every)


def write_prediction(file: Path, paths: list[Path], output: Path | None) -> int:
    """Ask a student about images; the exit code."""
    swapped = [path for path in paths if path.suffix == ".safetensors"]
    if swapped and file.suffix != ".safetensors":
        others = [file, *(path for path in paths if path != swapped[0])]
        meant = shlex.join(["gped", "predict", str(swapped[0]), *map(str, others)])
        raise ValueError(f"the student comes first, then the images. Did you mean {meant}?")

    import torch

    from gped.data.decoding import read_images
    from gped.data.folder import files_at, report
    from gped.students.deployment import write_csv
    from gped.students.student import load_student

    student = load_student(file)
    found, refused = [one for path in paths for one in files_at(path)], dict[Path, str]()
    _refuse_to_overwrite(output, [file, *found])
    images = read_images(found, student.input_shape, refused)
    report(refused, len(images))
    names = [one for one in found if one not in refused]
    prediction = student.predict(torch.from_numpy(images))
    if output is None:
        write_csv(sys.stdout, names, prediction)
    else:
        with replacing(output) as part, part.open("w", newline="", encoding="utf-8", errors="surrogateescape") as out:
            write_csv(out, names, prediction)
    if refused:
        print(f"gped predict: {len(refused)} of {len(found)} images are left out.", file=sys.stderr)
    return SOME_LEFT_OUT if refused else 0


def write_onnx(file: Path, output: Path) -> None:
    """Export a student."""
    if output.suffix == ".safetensors":
        raise ValueError(f"the ONNX file is to be {output}, the name of a student. The student comes first.")

    from gped.students.deployment import export_onnx
    from gped.students.student import load_student

    student = load_student(file)
    _refuse_to_overwrite(output, [file])
    export_onnx(student, output)


def _refuse_to_overwrite(output: Path | None, inputs: list[Path]) -> None:
    if output is not None and output.exists() and any(output.samefile(one) for one in inputs):
        raise ValueError(f"the output {output} is also an input, which it would replace. Choose another file.")


if __name__ == "__main__":
    main()
