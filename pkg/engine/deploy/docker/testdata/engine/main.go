// Command engine does what tests of the docker driver want of a container.
package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	switch arg := os.Args[2:]; os.Args[1] {
	case "serve": // on a port, until SIGTERM
		terminate := make(chan os.Signal, 1)
		signal.Notify(terminate, syscall.SIGTERM)
		go serve(arg[0])
		<-terminate
	case "deaf": // to SIGTERM
		signal.Ignore(syscall.SIGTERM)
		serve(arg[0])
	case "exit":
		code, _ := strconv.Atoi(arg[0])
		os.Exit(code)
	case "lines": // so many on each stream, then status 3
		n, _ := strconv.Atoi(arg[0])
		for i := range n {
			fmt.Println("out", i)
			fmt.Fprintln(os.Stderr, "err", i)
		}
		os.Exit(3)
	case "eat": // memory, until killed
		for size := 1 << 20; ; {
			block := make([]byte, size)
			for i := 0; i < size; i += 4096 {
				block[i] = 1
			}
			kept = append(kept, block)
		}
	case "say": // its surroundings and the files named
		dir, _ := os.Getwd()
		fmt.Println("uid", os.Getuid(), "dir", dir)
		fmt.Println(strings.Join(os.Environ(), "\n"))
		for _, name := range arg {
			text, err := os.ReadFile(name)
			fmt.Println(name, string(text), err, os.WriteFile(name, []byte("written"), 0o644))
		}
	}
}

var kept [][]byte

func serve(port string) {
	fmt.Println("serving")
	fmt.Println(http.ListenAndServe("0.0.0.0:"+port, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "hello")
	})))
	os.Exit(1)
}
