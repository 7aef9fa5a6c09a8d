# A preset is a configuration file of ours, chosen by name: --config preset=paper. It is laid over config.yaml, and what
# else the command line says is laid over it.
import sys
from pathlib import Path

sys.path.insert(0, workflow.basedir)

from gped.support.suggestions import meant

if "preset" in config:
    PRESETS = {
        path.stem: path
        for path in (Path(workflow.basedir) / "workflow/presets").glob("*.yaml")
    }
    if config["preset"] not in PRESETS:
        raise WorkflowError(
            f"There is no preset {config['preset']}.{meant(str(config['preset']), PRESETS)}"
        )

    configfile: PRESETS[config["preset"]]
