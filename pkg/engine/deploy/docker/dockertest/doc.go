// Package dockertest gives tests a Docker daemon and images of the project's own
// binaries on it. It is not part of the product.
//
//	func TestMain(m *testing.M) { os.Exit(dockertest.Wrap(m).Run()) }
//
//	func TestSomething(t *testing.T) {
//		d := dockertest.Get(t) // d.Client, d.Host, d.Image
//		…
//	}
//
// [Get] takes the daemon at $DOCKER_HOST, else at the default socket, else starts
// dockerd itself where it is root, dockerd is installed and none runs yet. Such a
// daemon has its own data in a temporary folder and leaves no bridge and no firewall
// rules.
//
// `go test ./...` tests packages side by side, so locks let one daemon of ours run at
// a time, and tests of one package use it at a time. What [Get] and [Docker.Build] made is taken away at the end of the
// [M] that [Wrap] returns, which is why they refuse to work without.
//
// Without a daemon the test is skipped with the reason; with CI set it fails,
// unless [Variable] says why there can be none.
package dockertest
