// Package store keeps runs: in a folder, or in a bucket that speaks S3, behind one
// small interface.
//
// In: the folder of a finished run, verified by its manifest, and a Key that says
// whose run it is. Out: the same files under the key, the manifest last, so that a
// run of which a part is missing is seen by nobody; and back again, verified anew,
// because a store is as foreign as any other input. The newest accepted runs of a
// branch are a baseline; they are found by listing alone, there is no index that
// could disagree with what lies there.
//
// Refused: to overwrite anything (an object is created once), to send a folder that
// is not as its run left it, to take names or sizes from a store unchecked, and to
// let an event that strangers can cause write where a baseline is read (Event).
//
// Source of the rules: issue "The Action", part 4; DESIGN.md "Nothing half-done is
// visible"; spec/pitfalls.md "Storage and schema", "Baseline and noise".
package store
