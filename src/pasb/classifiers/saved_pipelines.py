"""Pipelines of a table encoder and a classifier, as a file holds them."""

from __future__ import annotations

from typing import Any

from sklearn.base import TransformerMixin
from sklearn.pipeline import Pipeline

from pasb.classifiers.stick_classifier import StickClassifier
from pasb.covariates.encoder_file import encoder_from_json, encoder_to_json
from pasb.covariates.table_encoder import TableEncoder

OUTPUTS = ("default", "pandas", "polars")


def encoded_model(pipe: Pipeline) -> tuple[StickClassifier, dict[str, Any]]:
    """The classifier of a pipeline, and its encoder as JSON.

    Raises
    ------
    TypeError
        For a pipeline of other steps.
    """
    steps = [step for step in pipe.steps if step[1] not in (None, "passthrough")]
    other = [type(step).__name__ for _, step in steps[:-1] if type(step) is not TableEncoder]
    last = steps[-1][1] if steps else None
    if not isinstance(last, StickClassifier):
        other.append(type(last).__name__)
    if other or len(steps) != 2:
        what = f"{', '.join(other)} cannot be saved" if other else "the steps are others"
        raise TypeError(
            "a pasb file holds numbers and JSON, nothing that could be executed, so only a "
            "pipeline of a pasb.TableEncoder and one of pasb's classifiers fits into it: "
            f"{what}. Save the classifier alone (pipe[-1].save(path)) and build the steps before "
            "it again, or use joblib.dump, whose files execute code when they are read"
        )
    (encoder_name, encoder), (name, model) = steps
    return model, {
        "names": [encoder_name, name],
        "output": output_of(encoder),
        "encoder": encoder_to_json(encoder),
    }


def rebuilt_pipeline(stored: dict[str, Any], model: StickClassifier) -> Pipeline:
    """A pipeline from a file of unknown origin; ValueError for what is none."""
    if stored.keys() != {"names", "output", "encoder"}:
        raise ValueError("the pipeline is incomplete")
    names, output = stored["names"], stored["output"]
    if len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise ValueError("the steps of the pipeline have no names")
    if output not in OUTPUTS:
        raise ValueError("the output of the encoder is unknown")
    encoder = encoder_from_json(stored["encoder"])
    columns = encoder.get_feature_names_out()
    if len(columns) != model.n_features_in_:
        raise ValueError("the encoder does not fit the classifier")
    if hasattr(model, "feature_names_in_") and list(columns) != list(model.feature_names_in_):
        raise ValueError("the encoder does not fit the names of the covariates")
    if output != "default":
        encoder.set_output(transform=output)
    return Pipeline(list(zip(names, (encoder, model), strict=True)))


def output_of(encoder: TransformerMixin) -> str:
    """What `set_output` of a transformer was told."""
    output = getattr(encoder, "_sklearn_output_config", {}).get("transform", "default")
    return output if output in OUTPUTS else "default"
