# A preset is a configuration file of ours, chosen by name: --config preset=paper. It is laid over config.yaml, and what
# else the command line says is laid over it.
import sys
from pathlib import Path

sys.path.insert(0, workflow.basedir)

from workflow.experiments.configuration import ConfigurationError, preset_file

if "preset" in config:
    try:
        PRESET = preset_file(
            config["preset"], Path(workflow.basedir) / "workflow/presets"
        )
    except ConfigurationError as error:
        raise WorkflowError(str(error))

    configfile: PRESET
