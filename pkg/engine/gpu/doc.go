// Package gpu reads what GPUs say of themselves: which there are, who uses them,
// and what power they draw while an engine works.
//
// In go the output of nvidia-smi, by a [Runner] of the caller's choice (the host,
// a container), or the page of a DCGM exporter; out come typed devices, the
// processes on them, and over a window of time mean and peak power and energy by
// device. A figure that a device does not show is absent, never 0.
//
// It refuses output that is not the one asked for, too long or late. Energy is
// refused, with the reason code that InferenceX uses, where the window is not
// bracketed by samples or a gap between two of them is longer than 3 s.
//
// Source of the rules: spec/inferencex.md §3.7; the fields are those of
// nvidia-smi's --query-gpu and of NVIDIA's DCGM exporter.
package gpu
