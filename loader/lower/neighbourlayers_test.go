package lower_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"anesim/hw/execycles"
	"anesim/hw/regs"
	"anesim/internal/lint"
	"anesim/internal/network/keys"
	"anesim/loader/layer"
	. "anesim/loader/lower"
)

// neighbourBases are layers of the kinds whose texts are at hand, near the texts' sizes.
var neighbourBases = []string{
	"conv cin=64 h=16 w=16 cout=64 k=1",
	"conv cin=64 h=16 w=16 cout=64 k=3 pad=same",
	"conv cin=128 h=32 w=32 cout=128 k=3 pad=same",
	"conv cin=64 h=16 w=16 cout=64 k=3 pad=same stride=2",
	"conv cin=64 h=16 w=16 cout=64 k=1 stride=2",
	"conv cin=64 h=16 w=16 cout=64 groups=64 k=3 pad=same",
	"conv cin=64 h=16 w=16 cout=64 groups=4 k=3 pad=same",
	"conv cin=64 h=16 w=16 cout=64 k=1 bias=true act=relu",
	"conv cin=256 h=1 w=375 cout=256 k=1",
	"conv cin=256 h=1 w=375 cout=256 groups=256 kh=1 kw=9 pad=0,0,4,4",
	"conv cin=256 h=1 w=375 cout=256 groups=256 kh=9 kw=1 pad=4,4,0,0",
	"conv cin=64 h=1 w=1 cout=64 k=1",
	"matmul m=1 k=256 n=256",
	"matmul m=8 k=256 n=256",
	"matmul m=64 k=256 n=256",
	"matmul m=1 k=256 n=256 tx=true",
	"matmul m=16 k=256 n=256 tx=true",
	"matmul m=16 k=256 n=256 rhs=runtime",
	"matmul m=64 k=64 n=64 rhs=runtime",
	"matmul m=64 k=64 n=64 rhs=runtime ty=true",
	"matmul m=64 k=64 n=64 rhs=runtime tx=true",
	"matmul m=64 k=64 n=64 rhs=runtime tx=true ty=true",
	"linear m=64 k=256 n=256",
	"add c=64 h=8 w=8",
	"add c=64 h=8 w=8 broadcast=hw",
	"add c=64 h=8 w=8 broadcast=c",
	"mul n=4 c=64 h=8 w=8 broadcast=nhw",
	"add c=64 h=8 w=8 second=constant",
	"add c=64 h=8 w=8 second=scalar value=0.5",
	"add c=1 h=64 w=256",
	"add c=64 h=1 w=1 second=itself",
	"add c=64 h=8 w=8 act=relu",
	"sub c=64 h=8 w=8",
	"max c=64 h=8 w=8",
	"real_div c=64 h=8 w=8",
	"mul c=1 h=64 w=256 second=scalar value=0.5",
	"pow c=64 h=8 w=8",
	"relu c=64 h=8 w=8",
	"relu c=1 h=64 w=256",
	"silu c=64 h=8 w=8",
	"silu c=1 h=64 w=256",
	"gelu c=1 h=1024 w=375",
	"abs c=64 h=1 w=1",
	"sqrt c=64 h=1 w=1",
	"rsqrt c=64 h=1 w=1",
	"softmax c=64 h=8 w=8 axis=c",
	"softmax c=64 h=8 w=8 axis=h",
	"softmax c=64 h=8 w=8 axis=w",
	"softmax c=1 h=1 w=64 axis=w",
	"softmax c=1 h=1 w=64 axis=c",
	"softmax c=64 h=1 w=1 axis=c",
	"layernorm c=64 h=8 w=8 axis=c",
	"layernorm c=64 h=8 w=8 axis=w",
	"layernorm c=64 h=8 w=8 axis=hw",
	"layernorm c=64 h=8 w=8 axis=chw",
	"layernorm c=1 h=64 w=256 axis=w",
	"layernorm c=1 h=1 w=64 axis=w",
	"reduce c=64 h=8 w=8 kind=sum axis=c",
	"reduce c=64 h=8 w=8 kind=mean axis=c",
	"reduce c=64 h=8 w=8 kind=max axis=c",
	"reduce c=64 h=8 w=8 kind=sum axis=h",
	"reduce c=64 h=8 w=8 kind=mean axis=h",
	"reduce c=64 h=8 w=8 kind=max axis=h",
	"reduce c=64 h=8 w=8 kind=sum axis=w",
	"reduce c=64 h=8 w=8 kind=max axis=w",
	"reduce c=64 h=8 w=8 kind=mean axis=hw",
	"reduce c=64 h=8 w=8 kind=max axis=hw",
	"reduce c=64 h=8 w=8 kind=mean axis=chw",
	"reduce c=512 h=1 w=1 kind=sum axis=c",
	"reduce c=512 h=1 w=1 kind=max axis=c",
	"logical_not c=1 h=64 w=64",
	"transpose c=1 h=64 w=128 perm=0,1,3,2",
	"transpose c=64 h=8 w=8 perm=0,2,1,3",
	"transpose c=64 h=8 w=8 perm=0,3,2,1",
	"tile c=8 h=1 w=32  reps=1x1x8x1",
	"pool c=64 h=16 w=16 k=2 stride=2",
	"pool c=64 h=16 w=16 k=3 stride=2 pad=1 kind=avg",
}

// neighbourSizes are sizes on both sides of what rules depend on: granules, engines, slices, patches,
// and the limits of an extent.
var neighbourSizes = []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 129, 192, 255, 256, 257, 375, 511, 512, 513, 1023, 1024, 1025, 2048}

// neighbours returns layer line with each of some sizes in place of the value of key, or nothing if it
// has no such key. A convolution of each channel by itself stays one.
func neighbours(line, key string) (list []string) {
	sizes := neighbourSizes
	switch op := strings.Fields(line)[0]; {
	case key == "n" && op != "matmul" && op != "linear" && !strings.Contains(line, " n="), key == "stride" && op == "conv" && !strings.Contains(line, " stride="):
		line += " " + key + "=1"
		fallthrough
	case key == "stride":
		sizes = []int{1, 2, 3, 4}
	case key == "k" && (op == "conv" || op == "pool"):
		sizes = []int{1, 2, 3, 4, 5, 6, 7, 8, 9}
	}
	alone := regexp.MustCompile(`cin=(\d+) .*cout=(\d+) groups=(\d+)`).FindStringSubmatch(line)
	if key == "cin" && alone != nil && alone[1] == alone[3] {
		key = "cin|cout|groups"
	}
	extent := regexp.MustCompile(` (` + key + `)=\d+`)
	if !extent.MatchString(line) {
		return nil
	}
	for _, n := range sizes {
		list = append(list, extent.ReplaceAllString(line, fmt.Sprintf(" ${1}=%d", n)))
	}
	return list
}

// TestNeighbours varies each extent of layers whose text is at hand, over sizes on both sides of what
// rules depend on, for both targets and in the form of two releases. Each neighbour has a program, or is
// refused with the limit that it exceeds. The programs have no findings, and those of the targets are
// the same but for their estimates.
func TestNeighbours(t *testing.T) {
	programs := 0
	for i, base := range neighbourBases {
		if testing.Short() && i%4 != 0 {
			continue
		}
		for _, key := range []string{"n", "cin", "c", "cout", "h", "w", "k", "m", "stride"} {
			for _, line := range neighbours(base, key) {
				for _, release := range []layer.Release{layer.Newest, layer.Release2023} {
					if err := checkNeighbour(line, release); err != nil {
						t.Errorf("%s, release %v: %v", line, release, err)
					}
					programs++
				}
			}
		}
	}
	if programs < 1000 {
		t.Errorf("%d programs", programs)
	}
}

// checkNeighbour lowers a layer for both targets, and returns what is wrong with its programs.
func checkNeighbour(line string, release layer.Release) error {
	words := strings.Fields(line)
	op, _ := keys.Find(words[0])
	values, err := op.ParseKeys(words[1:])
	if err != nil {
		return err
	}
	made, _ := op.Single(values)
	if made == nil {
		return nil // such as groups that do not divide the channels
	}
	l := made.Lower
	w := madeUp(&l, false)
	w.SizesOnly, l.Release = true, release
	var chains [2][]*regs.Descriptor
	for i, target := range []execycles.Target{execycles.H13, execycles.H13G} {
		l.Target = target
		c, err := Compile(l, w)
		var limit *layer.LimitError
		var none *layer.LayerError
		if errors.As(err, &limit) || errors.As(err, &none) { // beyond a limit, or a window beyond the image
			return nil
		}
		if err != nil {
			return err
		}
		chains[i] = c.Builder.Chain
		if i > 0 {
			continue
		}
		p, err := c.Builder.Layout("neighbour")
		if err != nil {
			return err
		}
		found, err := lint.Program(p)
		if err != nil {
			return err
		}
		if len(found.Findings) > 0 {
			return fmt.Errorf("%v", &found.Findings[0])
		}
		if found.Undecided > 0 {
			return fmt.Errorf("%d undecided", found.Undecided)
		}
	}
	for _, chain := range chains {
		for _, d := range chain {
			d.Header.Timing = d.Header.Timing.WithExeCycles(0)
		}
	}
	if string(regs.EncodeChain(chains[0])) != string(regs.EncodeChain(chains[1])) {
		return errors.New("the descriptors of the targets differ")
	}
	return nil
}
