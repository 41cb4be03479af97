package lower_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anesim/bench/lint"
	"anesim/loader"
	"anesim/loader/internal/golden"
	. "anesim/loader/lower"
	"anesim/loader/lower/join"
)

// realFindings are findings in goldens that are mistakes of the lowering, by the words that they
// begin with.
var realFindings = []string{
	// The output has the buffer of the first input.
	"concat c=8 h=4 w=6; with release=2023: td 0 TileDMASrc.Src1Base: unwritten",
	// The parts of a batch, and the heads, are runs of their own, and the first results wait in
	// the L2 behind their ends.
	"chain attn_s128_dh64_h4: td 6 Header.Control: hint: closes a run",
	"x = input 2x8x8x8; a = conv(x) cout=8 k=3 pad=same; b = tanh(a); y = reduce(b) kind=mean axis=hw; out y: td 0 Header.Control: hint: closes a run",
}

// Every layer and network of the goldens is free of findings, but for those above; for parts of a
// tile, each of which keeps its source in the L2 where the next loads it again; and for results
// of layers that no other layer and no output takes.
func TestGoldensLint(t *testing.T) {
	descriptors, tiles, unused := 0, 0, 0
	left := slices.Clone(realFindings)
	for _, pattern := range []string{"layers", "explained", "networks"} {
		files, err := filepath.Glob(filepath.Join("testdata", pattern, "*.txt"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", pattern, err)
		}
		for _, file := range files {
			for _, c := range golden.Read(t, file) {
				p, spare := goldenProgram(t, pattern == "networks", c.Input)
				if p == nil {
					continue // refused
				}
				name := strings.Join(c.Input, "; ")
				r, err := lint.Program(p)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				descriptors += r.Descriptors
				if r.Undecided > 0 {
					t.Errorf("%s: %d undecided", name, r.Undecided)
				}
				for i := range r.Findings {
					f := fmt.Sprintf("%s: %v", name, &r.Findings[i])
					switch at := slices.IndexFunc(left, func(k string) bool { return strings.HasPrefix(f, k) }); {
					case at >= 0:
						left = slices.Delete(left, at, at+1)
					case strings.HasPrefix(name, "tile ") && strings.Contains(f, "unread: the kept source"):
						tiles++
					case spare && r.Findings[i].Rule == lint.Unread:
						unused++
					default:
						t.Error(f)
					}
				}
			}
		}
	}
	for _, k := range left {
		t.Errorf("is no longer found: %s", k)
	}
	if descriptors < 1000 || tiles == 0 || unused == 0 {
		t.Errorf("%d descriptors, %d findings in tiles, %d of unused layers", descriptors, tiles, unused)
	}
}

// goldenProgram is the program of a golden's input, nil where it is refused, and whether it is
// one of a network with layers that nothing takes.
func goldenProgram(t *testing.T, isNetwork bool, input []string) (p *loader.Program, spare bool) {
	t.Helper()
	var b *loader.Builder
	if isNetwork {
		n := goldenNetwork(t, input)
		j, err := n.Join()
		if err != nil {
			return nil, false
		}
		b, spare = j.Builder, hasUnused(n)
	} else {
		l, w := goldenLayer(t, input)
		c, err := Compile(l, w)
		if err != nil {
			return nil, false
		}
		b = c.Builder
	}
	p, err := b.Layout("golden")
	if err != nil {
		return nil, false
	}
	return p, spare
}

// hasUnused reports whether a network has a layer that no other layer and no output takes.
func hasUnused(n *join.Network) bool {
	return slices.ContainsFunc(n.Nodes, func(x join.Node) bool {
		return !slices.Contains(n.Outputs, x.Output) &&
			!slices.ContainsFunc(n.Nodes, func(y join.Node) bool { return slices.Contains(y.Inputs, x.Output) })
	})
}
