// Package deploy brings a fresh engine up, watches it and takes it down again,
// leaving nothing behind (DESIGN.md "Own what you start").
//
// In goes a [Driver], which knows how one kind of engine is started (process,
// container, Compose project; those are packages below this one), and a [Plan] of
// what ready means and how long it may take. Out comes a [Deployment] that answers
// completions at a URL, or an error that shows the first fatal line of the engine's
// log. An engine that ends by itself closes [Deployment.Died] at once.
//
// Ready means alive, /health, one real completion and one sample of its metrics,
// each with a deadline (spec/pitfalls.md "Connections"). Taking down means TERM,
// then KILL, then verified gone: port closed, process or container gone. Only what
// carries our mark is ever touched; leftovers of runs of ours whose owner is dead
// are swept at the next start.
package deploy
