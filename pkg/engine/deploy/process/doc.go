// Package process starts an engine as a command on this machine: vllm serve …,
// python -m sglang.launch_server …, srun ….
//
// In goes a [Driver] with the command line; it gives [deploy.Engine]s. The engine
// has its own session, no standard input, and a short list of our environment
// (see [Inherited]) besides what is declared for it; GitHub's and the clouds'
// tokens never reach it. {port} in the command, the declared environment and the
// metrics URLs stands for its port.
//
// What belongs to an engine: its session, the children of what belongs to it, and
// every process that has the engine's mark in its environment, which survives a
// double fork. All of it gets TERM, then KILL, until none is left and the port is
// closed (spec/pitfalls.md "Runner": workers that outlive their server keep GPU
// memory). A process is only ever signalled by its id together with its start, so
// that an id that was given again hits nobody.
//
// An engine has a temporary folder of its own (TMPDIR), unless one is declared or
// the command starts it on another machine; it is removed at the end with all that
// the engine left in it.
//
// A file for each engine in the state folder, and the mark, tell a later run what
// a killed one left. It is swept only when the process that started it is gone.
//
// All this needs /proc: other systems than Linux are refused.
package process
