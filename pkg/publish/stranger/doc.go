// Package stranger makes results of artifacts that anybody could have written, as those of
// a fork's pull request.
//
// In come the artifacts of a job whose code is others', a folder or a .zip. Out come runs
// in a folder of ours, in which everything is computed from four files of evidence
// (run.json, records.jsonl, trees.jsonl, samples.jsonl) by this program: result, exports,
// manifest. What is to be told of them comes as a document and a comparison in which all
// that only the artifacts say stands in quotation marks; a name that can't be read as
// words stays bare.
//
// Refused are records that no run writes, a result that doesn't follow from its records,
// names that a run doesn't make up, paths out of the folder, and what is more than is
// looked at: 512 MiB of evidence, 1 MiB a line, 40 runs, 8 baselines a run. Who calls
// bounds the time.
package stranger
