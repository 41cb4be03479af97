package lint_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"anesim/internal/lint"
)

// What lint takes grows with the chain: surfaces of as many runs, and as hard to compare, as
// registers can say.
func TestAttack(t *testing.T) {
	sizes := [...]int{250, 1_000}
	if os.Getenv("LONG") != "" {
		sizes = [...]int{500, 2_000}
	}
	for _, worst := range []string{"runs", "folds", "layers"} {
		var took [2]time.Duration
		for k, n := range sizes {
			p := program(t, attack(worst, n))
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			r, err := lint.Program(p)
			if err != nil {
				t.Fatal(err)
			}
			took[k] = time.Since(start)
			runtime.ReadMemStats(&after)
			t.Logf("%s: %d descriptors in %v, %d MB, %d findings, %d more, %d undecided", worst, n, took[k], (after.TotalAlloc-before.TotalAlloc)>>20, len(r.Findings), r.More, r.Undecided)
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 1024 {
				t.Errorf("%s: %d descriptors allocate %d MB", worst, n, mb)
			}
		}
		if took[1] > 10*time.Second {
			t.Errorf("%s: %v", worst, took[1])
		}
	}
}

// attack returns the text of a chain of n descriptors in L2 that are as expensive to check as
// possible. The argument worst selects the kind of expense.
func attack(worst string, n int) string {
	r := rand.New(rand.NewPCG(3, 9))
	var b strings.Builder
	b.WriteString(".port input x b4 1x1x1x32\n.port output y b5 1x1x1x32\n")
	for i := range n {
		b.WriteString(".td\n")
		if i > 0 {
			b.WriteString("Header.Task LNID\n")
		}
		shape, strides := "", ""
		switch worst {
		case "runs": // of one element, as many as a tile has units
			shape = "Common.OutDim Wout=1 Hout=256\nCommon.Cout 256\n"
			strides = "L2.ResultChannelStride 0x20\nL2.ResultRowStride 0x2000\n"
		case "folds": // strides that are not settled soon
			shape = "Common.OutDim Wout=1 Hout=32767\nCommon.Cout 131071\nCommon.OutDepth 65535\nCommon.GroupConvCfg NumGroups=8191\n"
			strides = fmt.Sprintf("L2.ResultChannelStride %#x\nL2.ResultRowStride %#x\nL2.ResultDepthStride %#x\nL2.ResultGroupStride %#x\n", 16*(60001+2*r.IntN(30)), 16*(70001+2*r.IntN(30)), 16*(90001+2*r.IntN(30)), 16*(110001+2*r.IntN(30)))
		case "layers": // each over some of the one before
			shape = fmt.Sprintf("Common.OutDim Wout=1 Hout=%d\nCommon.Cout 64\n", 1+r.IntN(64))
			strides = fmt.Sprintf("L2.ResultBase %#x\nL2.ResultChannelStride %#x\nL2.ResultRowStride %#x\nL2.Src1Base %#x\n", 16*r.IntN(1000), 16*(1+r.IntN(20)), 16*(20*64+r.IntN(20)), 16*r.IntN(1000))
		}
		b.WriteString(shape + strides)
		if i == 0 {
			b.WriteString("Common.InDim Win=32767 Hin=1\nCommon.Cin 1\nCommon.ChCfg InFmt=fp16 OutFmt=fp16\nCommon.TaskInfo TaskNID=1\nNE.MACCfg OpMode=pass-through\n")
		}
	}
	return b.String()
}
