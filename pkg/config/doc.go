// Package config reads agentx.yaml, the configuration of `agentx run`.
//
// In go the file's text and the keys there are, which are the long flags of the
// command line: a file, a command line and an Action's input share one name and one
// meaning (DESIGN.md §4). Out comes each value as text under its key, with the line
// it stands on, for the command line's parser to take as if it had been typed.
//
// The file is a flat YAML mapping: a key once, its value a scalar, a list or a
// mapping of names to scalars. Everything else is refused with file, line and
// column, all at once: an unknown key (the nearest one is named), a wrong type, a
// duplicate, an anchor, an alias, a tag, a second document, a file above 1 MiB.
//
// ${NAME} is replaced by a variable of the environment, after the text was parsed
// and only in keys that say so; $$ is a $. A variable that is not there is an error.
package config
