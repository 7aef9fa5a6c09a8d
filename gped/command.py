"""The command line: gped status, gped predict, gped export."""

import argparse
import sys
import time
from pathlib import Path

from gped.data.images import DataError
from gped.support.files import replacing


def main() -> None:
    """Run a command; what goes wrong is told in a sentence."""
    parser = argparse.ArgumentParser(prog="gped", description="Posterior expectation distillation.")
    commands = parser.add_subparsers(dest="command", required=True)
    status = commands.add_parser("status", help="how far a run of the workflow is")
    status.add_argument("run", type=Path, help="its folder, results/<run>")
    status.add_argument("--watch", type=float, nargs="?", const=5.0, metavar="SECONDS", help="repeat it so often")
    predict = commands.add_parser("predict", help="what a student says of images, as CSV")
    predict.add_argument("student", type=Path, help="a student's .safetensors file")
    predict.add_argument("images", type=Path, nargs="+", help="images, or folders of images")
    predict.add_argument("--output", type=Path, metavar="CSV", help="where to write it; standard output unless given")
    export = commands.add_parser("export", help="a student as an ONNX file")
    export.add_argument("student", type=Path, help="a student's .safetensors file")
    export.add_argument("output", type=Path, metavar="ONNX", help="the file to write")
    arguments = parser.parse_args()
    try:
        if arguments.command == "status":
            tell_status(arguments.run, arguments.watch)
        elif arguments.command == "predict":
            write_prediction(arguments.student, arguments.images, arguments.output)
        else:
            write_onnx(arguments.student, arguments.output)
    except (OSError, ValueError, ImportError, DataError) as error:
        sys.exit(f"gped {arguments.command}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def tell_status(run: Path, every: float | None) -> None:
    """Print how far a run is, once or repeatedly."""
    from gped.support.status import status

    while True:
        text = status(run)
        print(f"\033[H\033[J{text}" if every and sys.stdout.isatty() else text, flush=True)
        if not every:
            return
        time.sleep(every)


def write_prediction(file: Path, paths: list[Path], output: Path | None) -> None:
    """Ask a student about images."""
    import torch

    from gped.data.folder import image_folder
    from gped.students.deployment import write_csv
    from gped.students.student import load_student

    student = load_student(file)
    found = [image_folder(path, student.architecture.input_shape) for path in paths]
    names = [name for part in found for name in part.files]
    prediction = student.predict(torch.cat([part.images for part in found]))
    if output is None:
        write_csv(sys.stdout, names, prediction)
        return
    with replacing(output) as part, part.open("w", newline="") as out:
        write_csv(out, names, prediction)


def write_onnx(file: Path, output: Path) -> None:
    """Export a student."""
    from gped.students.deployment import export_onnx
    from gped.students.student import load_student

    export_onnx(load_student(file), output)


if __name__ == "__main__":
    main()
