package anesim_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"runtime/metrics"
	"testing"
	"time"

	"anesim"
	"anesim/hw/regs"
	"anesim/internal/report"
	"anesim/loader"
	"anesim/loader/lower"
)

// What a program may ask for when it is fuzzed, and what that may take: some times the
// memory of its segments, for they are filled, copied to the engine and read back in three
// runs, and a time that a busy machine needs a hundredth of. Of a fuzzed input go test itself
// gives up after ten seconds.
const (
	fuzzMemory = 4 << 20
	fuzzSteps  = 1 << 18
	fuzzBytes  = 64 * fuzzMemory
	fuzzTime   = time.Minute
)

// within runs f and fails the test if f needs more time than fuzzTime or allocates more than
// fuzzBytes.
func within(t *testing.T, f func()) {
	t.Helper()
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(allocated)
	before, at := allocated[0].Value.Uint64(), time.Now()
	f()
	metrics.Read(allocated)
	if n := allocated[0].Value.Uint64() - before; n > fuzzBytes {
		t.Errorf("%d bytes allocated, want at most %d", n, fuzzBytes)
	}
	if took := time.Since(at); took > fuzzTime {
		t.Errorf("took %v, want at most %v", took, fuzzTime)
	}
}

// tryProgram reads a program from file and runs it twice with values and once without. Either
// reading it fails with one of the documented errors, or both runs must end in the same way and the
// third in the same time.
func tryProgram(t *testing.T, file []byte) {
	t.Helper()
	within(t, func() {
		m, err := anesim.Read("fuzzed", bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		o := anesim.Options{Values: true, Memory: fuzzMemory, Budget: fuzzSteps, Workers: 1}
		a, err := m.Run(context.Background(), o)
		if err != nil {
			return
		}
		b, err := m.Run(context.Background(), o)
		if err != nil {
			t.Fatalf("the first run went well, the second did not: %v", err)
		}
		var x, y bytes.Buffer
		if err := errors.Join(report.WriteJSON(&x, a), report.WriteJSON(&y, b)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(x.Bytes(), y.Bytes()) {
			t.Error("two runs differ")
		}
		o.Values = false
		timed, err := m.Run(context.Background(), o)
		if err != nil {
			t.Fatalf("with values it runs, without: %v", err)
		}
		if len(a.Report.Faults) == 0 && (timed.Report.Cycles != a.Report.Cycles || timed.Report.DMA != a.Report.DMA) {
			t.Errorf("%d cycles and %v with values, %d and %v without", a.Report.Cycles, a.Report.DMA, timed.Report.Cycles, timed.Report.DMA)
		}
	})
}

// FuzzRunProgram runs whatever can be read as a program.
func FuzzRunProgram(f *testing.F) {
	for _, name := range lower.Examples() {
		file, err := lower.Example(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
		p, err := lower.ExampleProgram(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p.Text)
	}
	f.Fuzz(func(t *testing.T, file []byte) { tryProgram(t, file) })
}

// FuzzRunChain changes the descriptors of good chains as descriptors: registers of one get
// values, fields other bits, descriptors are repeated, dropped, put elsewhere and linked
// again, so that what is wrong stands behind what reading checks. An edit is seven bytes: what
// to do, with which descriptor, at which word, and a value.
func FuzzRunChain(f *testing.F) {
	names := lower.Examples()
	edit := func(list ...uint32) (b []byte) {
		for ; len(list) >= 4; list = list[4:] {
			b = append(b, byte(list[0]), byte(list[1]), byte(list[2]))
			b = binary.LittleEndian.AppendUint32(b, list[3])
		}
		return b
	}
	for i := range names {
		f.Add(uint8(i), edit(), false)
		f.Add(uint8(i), edit(2, 0, 0, 3), false)                 // the first descriptor again
		f.Add(uint8(i), edit(0, 0, 30, 0x4000), false)           // a register's value
		f.Add(uint8(i), edit(1, 0, 40, 1<<16, 2, 0, 0, 1), true) // a bit, and again
		f.Add(uint8(i), edit(3, 0, 0, 0, 5, 0, 9, 2), true)
	}
	f.Fuzz(func(t *testing.T, which uint8, edits []byte, bare bool) {
		p, err := lower.ExampleProgram(names[int(which)%len(names)])
		if err != nil {
			t.Fatal(err)
		}
		var chain []*regs.Descriptor
		for d, err := range p.Descriptors() {
			if err != nil {
				t.Fatal(err)
			}
			chain = append(chain, d)
		}
		for ; len(edits) >= 7 && len(chain) > 0 && len(chain) < 64; edits = edits[7:] {
			chain = edited(chain, edits[0], int(edits[1]), int(edits[2]), binary.LittleEndian.Uint32(edits[3:]))
		}
		if len(chain) == 0 {
			return
		}
		loader.Sequence(chain...)
		text := regs.EncodeChain(chain)
		if bare {
			tryProgram(t, text)
			return
		}
		// In its container, where its windows and ports stay what they were.
		q := *p
		q.Text, q.TaskCount, q.FirstWords = text, len(chain), chain[0].Words
		within(t, func() {
			o := anesim.Options{Values: true, Memory: fuzzMemory, Budget: fuzzSteps, Workers: 1}
			if r, err := anesim.Run(&q, o); err == nil && r.Report.Count() != len(chain) && len(r.Report.Faults) == 0 {
				t.Errorf("%d descriptors of %d ran without a fault", r.Report.Count(), len(chain))
			}
		})
	})
}

// edited makes one change to the descriptor with index at%len(chain) and returns the changed chain.
// It replaces, repeats, removes or swaps the descriptor, as what%7 selects; word and value say
// where and with what.
func edited(chain []*regs.Descriptor, what byte, at, word int, value uint32) []*regs.Descriptor {
	i := at % len(chain)
	d := cloneDescriptor(chain[i])
	switch what % 7 {
	case 0, 1: // a register's word, or bits of it
		for r := range d.Records {
			v := d.Records[r].Values
			if word >= len(v) {
				word -= len(v)
				continue
			}
			if what%7 == 0 {
				v[word] = value
			} else {
				v[word] ^= value
			}
			break
		}
		chain[i] = d
	case 2: // again, so many times
		for range value % 4 {
			chain = append(chain, cloneDescriptor(d))
		}
	case 3:
		chain = append(chain[:i], chain[i+1:]...)
	case 4: // in another's place
		k := word % len(chain)
		chain[i], chain[k] = chain[k], chain[i]
	case 5: // without one of its records
		if n := len(d.Records); n > 0 {
			k := word % n
			d.Words -= 1 + len(d.Records[k].Values)
			d.Records = append(d.Records[:k:k], d.Records[k+1:]...)
			chain[i] = d
		}
	case 6: // another header
		h := &d.Header
		h.KernelBases, h.Control = h.KernelBases^regs.HeaderKernelBases(value&^3), h.Control^regs.HeaderControl(value)
		chain[i] = d
	}
	return chain
}

func cloneDescriptor(d *regs.Descriptor) *regs.Descriptor {
	e := *d
	e.Records = make([]regs.Record, len(d.Records))
	for i, r := range d.Records {
		e.Records[i] = regs.Record{Addr: r.Addr, Values: append([]uint32(nil), r.Values...)}
	}
	return &e
}
