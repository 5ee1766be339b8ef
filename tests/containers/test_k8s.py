"""The manifests for Kubernetes: they are what Kubernetes takes, name images of ours, and run commands that exist."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
KUBERNETES = "1.32"
MANIFESTS = sorted((ROOT / "containers" / "k8s").glob("*.yaml"))


def pods(content):
    """Return all specifications of pods in a manifest."""
    spec = content["spec"]
    groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]] if "headGroupSpec" in spec else []
    return [group["template"]["spec"] for group in groups]


def valid(content):
    """Return what Kubernetes takes. Of KubeRay's own kinds no schema is at hand, of the pods in them there is."""
    kubernetes_validate.validate(content, KUBERNETES, strict=True)
    return content


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_a_manifest_runs_images_of_ours_with_limits_and_no_account(path):
    content = yaml.safe_load(path.read_text())
    if content["apiVersion"] != "ray.io/v1":
        valid(content)
        return
    for pod in pods(content):
        valid({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": pod})
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            name = container["image"].partition(":")[0].removeprefix("rlfactory-")
            assert (ROOT / "containers" / name / "Dockerfile").exists()
            assert container["resources"]["limits"]["memory"] == container["resources"]["requests"]["memory"]
            assert {"name": "runs", "mountPath": "/runs"} in container["volumeMounts"], "workers write episodes there"


def test_the_cluster_is_of_the_version_that_is_installed():
    content = yaml.safe_load((ROOT / "containers/k8s/cluster.yaml").read_text())
    locked = (ROOT / "constraints.txt").read_text().splitlines()
    assert f"ray=={content['spec']['rayVersion']}" in locked
    (phones,) = [each for each in content["spec"]["workerGroupSpecs"] if each["groupName"] == "phones"]
    assert json.loads(json.loads(phones["rayStartParams"]["resources"])) == {"phones": 1}


@pytest.mark.train
def test_the_training_composes():
    from rlfactory.trainer.run.local_service import ServiceConfig
    from rlfactory.trainer.run.recipe import compose_recipe

    content = yaml.safe_load((ROOT / "containers/k8s/train.yaml").read_text())
    words = shlex.split(content["spec"]["entrypoint"])
    assert words[:2] == ["rlfactory", "train"]
    assert words[words.index("--runs") + 1] == "/runs"
    config = compose_recipe(words[2], [word for word in words[3:] if "=" in word])
    asked = ServiceConfig.from_config(config.rlfactory.service, cluster="auto").arguments()
    assert asked[asked.index("--node-resource") + 1] == "phones", "not on the head, and not beside GPUs"
