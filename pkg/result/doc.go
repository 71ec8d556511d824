// Package result makes the result document of a run and keeps the folder that
// proves it.
//
// In go a run's folder: run.json (Facts, what the program knew and did) and
// three files of JSON lines (records, trees, samples). Out come result.json
// (Document), the same in AIPerf's layouts, and manifest.json with the SHA-256
// of every file. Everything in result.json is computed from those four files
// alone, so that Build gives it again and Check finds any difference.
//
// It refuses a number that is not finite, a document that breaks its JSON
// Schema (schemas/result.schema.json), a manifest that points outside its
// folder, and a folder whose figures don't follow from its records.
//
// The layout follows spec/replay.md §8, the identity decisions.md 29.
package result
