package process

// TmpOf is the temporary folder in the environment of a process.
func TmpOf(pid int) string { return variables(pid, "TMPDIR")[0] }
