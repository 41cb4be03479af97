package anesim_test

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"anesim"
	"anesim/hw"
	"anesim/hw/dma"
	"anesim/hw/regs"
	"anesim/internal/material"
	"anesim/loader"
	"anesim/loader/lower"
)

// mutationSeed makes the mutated containers the same on every run.
const mutationSeed = 0x414e45

// containers returns programs to damage: the built-in ones, and the real ones if their files are
// present.
func containers(t *testing.T) map[string][]byte {
	t.Helper()
	m := make(map[string][]byte)
	for _, name := range lower.Examples() {
		b, err := lower.Example(name)
		if err != nil {
			t.Fatal(err)
		}
		m[name] = b
	}
	for _, f := range material.More(t, "programs/*.hwx") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m[filepath.Base(f)] = b
	}
	return m
}

// mutate returns a copy of b with one to four random changes: bits, bytes or words of it have other
// values, or its end is missing. It changes mostly words that are not zero.
func mutate(r *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	var live []int
	for i := 0; i < len(b); i += 4 {
		if b[i]|b[min(i+1, len(b)-1)]|b[min(i+2, len(b)-1)]|b[min(i+3, len(b)-1)] != 0 {
			live = append(live, i)
		}
	}
	for range 1 + r.IntN(4) {
		at := live[r.IntN(len(live))] + r.IntN(4)
		if at >= len(b) {
			continue
		}
		switch r.IntN(6) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = byte(r.Uint32())
		case 2:
			b[at] = 0xff
		case 3:
			b[at] = 0
		case 4:
			for i := at &^ 3; i < min(at&^3+4, len(b)); i++ {
				b[i] = byte(r.Uint32())
			}
		case 5:
			if r.IntN(8) == 0 {
				b = b[:at]
				if len(b) < 32 {
					return b
				}
				live = live[:0]
				for i := 0; i+4 <= len(b); i += 4 {
					live = append(live, i)
				}
			} else {
				copy(b[at:], b[live[r.IntN(len(live))]%len(b):][:min(4, len(b)-at, len(b)-live[0]%len(b))])
			}
		}
	}
	return b
}

// A damaged container gives a typed error that says where, or a result: never a panic,
// never much more memory than it declares, never a long wait.
func TestMutatedContainers(t *testing.T) {
	const (
		spare   = 64 << 20
		patient = 10 * time.Second
	)
	total := 2000
	if os.Getenv("LONG") != "" {
		total = 10000
	}
	sources := containers(t)
	names := slices.Sorted(maps.Keys(sources))
	r := rand.New(rand.NewPCG(mutationSeed, 1))
	ran, refused, faulted := 0, 0, 0
	var before, after runtime.MemStats
	for i := range total {
		name := names[i%len(names)]
		b := mutate(r, sources[name])
		start := time.Now()
		runtime.ReadMemStats(&before)
		p, err := loader.Read(name, bytes.NewReader(b), int64(len(b)))
		declared := uint64(len(b))
		var res *anesim.Result
		if err == nil {
			for _, s := range p.Segments {
				declared += s.Size
			}
			res, err = anesim.Run(p, anesim.Options{Chip: hw.M1(), Values: true})
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > declared+spare {
			t.Errorf("case %d (%s): %d MiB for %d MiB declared", i, name, used>>20, declared>>20)
		}
		if d := time.Since(start); d > patient {
			t.Errorf("case %d (%s): took %v", i, name, d)
		}
		switch {
		case err != nil:
			refused++
			if !typed(err) {
				t.Errorf("case %d (%s): untyped error %T: %v", i, name, err, err)
			}
			if strings.TrimSpace(err.Error()) == "" || strings.Contains(err.Error(), "\n") {
				t.Errorf("case %d (%s): error is not one line: %q", i, name, err)
			}
		case len(res.Report.Faults) > 0:
			faulted++
			if len(res.Outputs) > 0 {
				t.Errorf("case %d (%s): outputs after a fault", i, name)
			}
		default:
			ran++
		}
	}
	t.Logf("%d mutated containers: %d refused, %d device faults, %d ran", total, refused, faulted, ran)
	if refused == 0 || faulted == 0 || ran == 0 {
		t.Error("the mutations do not reach all three outcomes")
	}
}

// typed reports whether err has one of the documented error types.
func typed(err error) bool {
	var (
		format      *loader.FormatError
		unsupported *loader.UnsupportedError
		surface     *loader.SurfaceError
		reloc       *loader.RelocError
		memory      *loader.MemoryError
		stream      *regs.StreamError
		access      *dma.AccessError
		port        *anesim.PortError
	)
	for _, target := range []any{&format, &unsupported, &surface, &reloc, &memory, &stream, &access, &port} {
		if errors.As(err, target) {
			return true
		}
	}
	return false
}
