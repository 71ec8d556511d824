// Package preset turns typed settings into the command line and environment of an
// engine: vLLM, SGLang, or the embedded one.
//
// In go [Settings]; out comes a [Command]: what a process runs, what a container
// runs, and the declared environment. The mapping is pure, so the same settings
// are the same command everywhere, and it can be shown before anything starts.
// [Edit] appends to, replaces in and removes from its arguments. Settings that an
// engine can't have are refused by name, all at once; nothing is dropped silently.
//
// What is passed follows spec/inferencex.md §1.6. Names were checked against the
// engines' own sources: vLLM's config/cache.py and config/speculative.py,
// docs/features/mooncake_store_connector_usage.md and docker/Dockerfile (entrypoint
// `vllm serve`); SGLang's docs/advanced_features/server_arguments.md (0.5).
package preset
