"""What must hold of a real engine's results. Names of results are the arguments."""

import json
import sys

# A small shared machine may be slow; that is no fault of the figures.
SLOW = {"schedule_lag", "connection_wait", "client_cpu", "few_effective_roots", "live_trees"}


def judge(path):
    with open(path) as file:
        result = json.load(file)
    engine, cache, tokens = result["engine"], result["cache"], result["tokens"]
    run = engine["profiling"]
    usage, counted = cache["usage"], cache["engine"]["local"]
    failed = []

    def expect(holds, text):
        print("ok  " if holds else "FAIL", f"{result['mode']}: {text}")
        if not holds:
            failed.append(text)

    requests = result["requests"]["profiling"]
    expect(requests["ok"] > 0 and requests["errors"] == requests["overflow"] == 0, f"all answered: {requests}")
    expect(result["calibration"]["probe_drift"] == 0, "a word is a token")
    drift = tokens["drift"]
    expect(drift["count"] == requests["ok"] and drift["min"] == drift["max"] == 0,
           f"every prompt is as long as planned: {drift['min']} to {drift['max']} tokens off in {drift['count']}")
    expect(tokens["output_judged"] == requests["ok"] and tokens["output_mismatch"] == 0, "every answer is as long as asked")
    expect(tokens["missing_usage"] == tokens["missing_cached"] == tokens["below_chunks"] == 0, "usage is whole")
    expect(engine["name"] == "vllm" and engine["kv_cache_tokens"] > 0, "the engine is known by its metrics")
    cold = engine["cold_start"]
    expect(cold.get("reset") or cold["prompt_tokens_before"] == cold["own_prompt_tokens"], "the cache was empty: new, or reset and proven")
    expect(requests["censored"] > 0 or usage["hit"] == counted["hit"] == run["prefix_cache_hits"],
           f"usage and counters agree: {usage['hit']} and {counted['hit']} tokens hit of {usage['total']} and {counted['total']}")
    if "ideal_ended" in cache:
        # vLLM's blocks have 128 tokens on a CPU, the traces' 64, and what a request
        # in flight has computed may be found or not.
        low, high, rate = (100 * figures["rate"] for figures in (cache["ideal_ended"], cache["ideal_begun"], usage))
        expect(rate > 50 and low - 2 < rate < high + 2, f"hit rate {rate:.1f} %, ideal as played {low:.1f} to {high:.1f} %")
    else:
        expect(usage["hit"] == 0, "random prompts hit nothing")
    others = {f["code"] for f in result["validity"]["findings"]} - SLOW
    expect(not others, f"no finding but of a slow machine: {sorted(others)}")
    return failed


sys.exit(1 if [f for path in sys.argv[1:] for f in judge(path)] else 0)
