package trace

// Runs appends, for every run that holds some of p's blocks [from, to), the path
// along that run up to where p leaves it or to is reached, in order.
func (b *Blocks) Runs(paths []Path, p Path, from, to int) []Path {
	start := len(paths)
	p = b.Prefix(p, to)
	for p.Run != noRun && int(p.Len) > from {
		paths = append(paths, p)
		r := b.runs[p.Run]
		p = b.Prefix(Path{r.parent, r.kept}, int(r.kept))
	}
	for i, j := start, len(paths)-1; i < j; i, j = i+1, j-1 {
		paths[i], paths[j] = paths[j], paths[i]
	}
	return paths
}
