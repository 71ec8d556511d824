// Package health watches the load generator itself while a run goes on
// (spec/replay.md §7.10, decisions.md 20), for every kind of load.
//
// In go the finished requests; out comes a sample of the processor's share, the
// heap, the largest schedule lag and the longest wait for a connection since the
// sample before. A figure that this system does not give is absent.
package health
