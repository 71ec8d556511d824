package preset

// simulator is `agentx sim`, the embedded engine as a process or a container of
// its own. An image of it has the program as its entrypoint.
func simulator(s Settings, errs *errorList) Command {
	s.refuseOffload(errs, "the embedded engine")
	for _, no := range []struct {
		flag  string
		given bool
	}{
		{"model-path", s.Path != ""}, {"trust-remote-code", s.TrustRemoteCode},
		{"tensor-parallel-size", s.TensorParallel > 1}, {"pipeline-parallel-size", s.PipelineParallel > 1}, {"data-parallel-size", s.DataParallel > 1},
		{"dp-attention", s.DPAttention}, {"expert-parallel", s.ExpertParallel},
		{"max-model-len", s.MaxModelLen != 0}, {"gpu-memory-utilization", s.GPUMemoryUtilization != 0}, {"kv-cache-dtype", s.KVCacheDtype != ""},
		{"no-prefix-caching", s.NoPrefixCaching}, {"speculative-…", s.Speculation.On()},
	} {
		if no.given {
			errs.addf("--%s: the embedded engine has its own dials; give --sim-set (agentx sim --help)", no.flag)
		}
	}
	if s.APIKey != "" {
		errs.addf("--api-key: the embedded engine takes it only on its command line, where every process of the machine reads it; leave it out")
	}
	var a argList
	a.add("--host", s.host())
	a.add("--port", s.Port)
	a.add("--model", s.Model)
	a.add("--sim-config", s.SimConfig)
	for _, set := range s.SimSet {
		a.add("--sim-set", set)
	}
	return Command{Program: []string{"agentx", "sim"}, Prefix: []string{"sim"}, Args: a}
}
