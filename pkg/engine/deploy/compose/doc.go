// Package compose deploys what a user's Compose file describes: replicas behind a
// router, a prefill/decode split, a KV store (DESIGN.md "The engine is somebody
// else's format").
//
// In go the files and the port at which the whole answers; out comes a
// [deploy.Engine]. docker compose reads the files and starts the project; an
// override file of ours, laid over the user's, marks all that is created as ours,
// forbids restarts and publishes on the loopback the ports that are asked for.
// Everything after that (logs, exits, taking down, sweeping) goes through the
// Docker Engine API by our label, so that it also works when the file is gone.
//
// A container that ends is the end of the engine, whatever its exit status, unless
// another service waits for it to complete (service_completed_successfully).
// Taking down removes containers with their anonymous volumes, networks, and the
// volumes whose name Compose made up. A volume with a name of its own, or an
// external one, is the user's (weights, caches) and stays.
//
// It refuses: a machine without docker compose v2, saying what to install; a
// service or port that the file does not have; an endpoint with replicas and no
// router before them. It needs the host binary: the Action's container holds no
// docker compose (spec/decisions.md 32).
package compose
