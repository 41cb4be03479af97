package regs_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime/metrics"
	"strings"
	"testing"

	"anesim/hw/regs"
)

// chainAt lays descriptors out at byte offsets and links them in order.
func chainAt(offsets []uint32, chain ...*regs.Descriptor) []byte {
	for i, d := range chain {
		d.Index, d.Offset = i, offsets[i]
		d.Words = len(d.Append(nil)) / 4
		if i > 0 {
			chain[i-1].Header.Next = regs.HeaderNext(d.Offset)
			chain[i-1].Header.Timing = chain[i-1].Header.Timing.WithNextSize(uint32(d.Words) - 1)
		}
	}
	return regs.EncodeChain(chain)
}

// three is a chain of three descriptors at 0, 0x100 and 0x300: shapes, then the first
// source channel count alone, then a kernel in scratch with its extra header word.
func three() []*regs.Descriptor {
	return []*regs.Descriptor{
		{Records: []regs.Record{{Addr: 0, Values: []uint32{0x0008_0008, 1, 0x22, 64, 32}}, {Addr: 0x8800, Values: []uint32{0x80000}}}},
		{Records: []regs.Record{{Addr: 0xc, Values: []uint32{128}}}},
		{Header: regs.Header{KernelBases: 0x23}, Extended: true, Extra: 0xdead_0123,
			Records: []regs.Record{{Addr: 0x1f800, Values: make([]uint32, 62)}, {Addr: 0x17818, Values: []uint32{0x130_2031}}}},
	}
}

var threeAt = []uint32{0, 0x100, 0x300}

// TestChain checks that a generated chain behaves like real ones: it has gaps between
// descriptors and the extra word, and words that a descriptor does not write keep their
// values.
func TestChain(t *testing.T) {
	want := three()
	text := chainAt(threeAt, want...)
	for _, first := range []int{0, want[0].Words} {
		var f regs.File
		s := regs.Stream{Text: text, FirstWords: first}
		n := 0
		for task, err := range s.Tasks(&f) {
			if err != nil {
				t.Fatal(err)
			}
			if c := task.Groups.Common; c.Cin.Cin() != []uint32{64, 128, 128}[n] || c.Cout.Cout() != 32 || task.Index != n || task.Offset != threeAt[n] {
				t.Errorf("task %d at %#x: Cin %v, Cout %v", task.Index, task.Offset, c.Cin, c.Cout)
			}
			n++
		}
		if n != 3 {
			t.Errorf("%d tasks, want 3", n)
		}
		var got []*regs.Descriptor
		for d, err := range regs.Chain(text, first) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, d)
		}
		if !got[2].Extended || got[2].Extra != 0xdead_0123 || len(got[2].Records) != 2 {
			t.Errorf("third descriptor: %+v", got[2])
		}
		if !bytes.Equal(regs.EncodeChain(got), text) {
			t.Error("the text changes")
		}
		storesAsApplied(t, text, first, got)
	}
	for d, err := range regs.Chain(text, 0) {
		if d.Index != 0 || err != nil {
			t.Error("the walk goes on after the loop was left")
		}
		break
	}
}

func TestChainErrors(t *testing.T) {
	le := binary.LittleEndian
	next := func(text []byte, d int, at uint32) { le.PutUint32(text[threeAt[d]+4*7:], at) }
	size := func(text []byte, d int, words uint32) {
		w := regs.HeaderTiming(le.Uint32(text[threeAt[d]+4:]))
		le.PutUint32(text[threeAt[d]+4:], uint32(w.WithNextSize(words-1)))
	}
	word := func(at, w uint32) func([]byte) []byte {
		return func(text []byte) []byte { le.PutUint32(text[at:], w); return text }
	}
	const record = 4 * regs.HeaderWords // of a descriptor without the extra word
	for _, tc := range []struct {
		name   string
		damage func(text []byte) []byte
		first  int
		index  int
		off    uint64
		want   string
	}{
		{"empty text", func([]byte) []byte { return nil }, 0, 0, 0, "header of 40 bytes"},
		{"first header cut", func(b []byte) []byte { return b[:36] }, 0, 0, 0, "header of 40 bytes"},
		{"later header cut", func(b []byte) []byte { return b[:0x110] }, 0, 1, 0x100, "header of 40 bytes"},
		{"later descriptor cut", func(b []byte) []byte { return b[:0x100+record] }, 0, 1, 0x100, "extends past the end of the text (0x128 bytes)"},
		{"first size beyond the text", func(b []byte) []byte { return b }, 400, 0, 0, "declared size of 400 words"},
		{"first size too small", func(b []byte) []byte { return b }, 9, 0, 0, "want at least 10 for the header"},
		{"first size negative", func(b []byte) []byte { return b }, -1, 0, 0, "want at least 10 for the header"},
		{"size too small", func(b []byte) []byte { size(b, 0, 5); return b }, 0, 1, 0x100, "declared size is 5 words"},
		{"size one short", func(b []byte) []byte { size(b, 0, 11); return b }, 0, 1, 0x100 + record, "runs past the descriptor's end"},
		{"size one long", func(b []byte) []byte { size(b, 0, 13); return b }, 0, 1, 0x100 + record + 8, "runs past the descriptor's end"},
		{"size cuts the extra header word", func(b []byte) []byte { size(b, 1, 10); return b }, 0, 2, 0x300 + record, "extra header word"},
		{"next misaligned", func(b []byte) []byte { next(b, 0, 0x180); return b }, 0, 0, 0x1c, "not a multiple of 0x100"},
		{"next outside", func(b []byte) []byte { next(b, 1, 0x500); return b }, 0, 1, 0x11c, "is outside the text (0x430 bytes)"},
		{"next far outside", func(b []byte) []byte { next(b, 1, 0xffff_ff00); return b }, 0, 1, 0x11c, "is outside the text (0x430 bytes)"},
		{"next is itself", func(b []byte) []byte { next(b, 1, 0x100); return b }, 0, 1, 0x11c, "descriptor 1"},
		{"next loops back", func(b []byte) []byte { next(b, 2, 0x100); return b }, 0, 2, 0x31c, "descriptor 1"},
		{"next inside an earlier one", func(b []byte) []byte { next(b, 2, 0x400); return b }, 0, 2, 0x31c, "descriptor 2"},
		{"record misaligned", word(0x100+record, 0xd), 0, 1, 0x100 + record, "is not inside a register window"},
		{"record between windows", word(0x100+record, 0x40), 0, 1, 0x100 + record, "is not inside a register window"},
		{"record runs out of its window", word(record, 4<<26|0x38), 0, 0, record, "record of 5 words at register 0x38"},
		{"record runs out of the descriptor", word(0x100+record, 1<<26|0xc), 0, 1, 0x100 + record, "runs past the descriptor's end at 0x130"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := tc.damage(chainAt(threeAt, three()...))
			var err error
			walked := 0
			for _, err = range regs.Chain(text, tc.first) {
				walked++
			}
			var e *regs.StreamError
			if !errors.As(err, &e) {
				t.Fatalf("error %v", err)
			}
			if e.Index != tc.index || e.Off != tc.off || !strings.Contains(e.Error(), tc.want) || walked != tc.index+1 {
				t.Errorf("after %d descriptors %v\nwant descriptor %d at %#x: %s", walked-1, err, tc.index, tc.off, tc.want)
			}
		})
	}
}

// The third descriptor of the walk, at 0x200, reaches into the second, at 0x300.
func TestChainOverlap(t *testing.T) {
	d := three()
	first, short, long := d[0], d[1], d[2]
	short.Offset, long.Offset = 0x300, 0x200
	first.Header.Next = 0x300
	first.Header.Timing = first.Header.Timing.WithNextSize(uint32(len(short.Append(nil)))/4 - 1)
	short.Header.Next = 0x200
	short.Header.Timing = short.Header.Timing.WithNextSize(uint32(len(long.Append(nil)))/4 - 1)
	var err error
	for _, err = range regs.Chain(regs.EncodeChain([]*regs.Descriptor{first, long, short}), 0) {
	}
	var e *regs.StreamError
	if !errors.As(err, &e) || e.Index != 2 || e.Off != 0x200 || !strings.Contains(e.What, "overlaps descriptor 1") {
		t.Errorf("error %v, want descriptor 2 at 0x200 overlapping descriptor 1", err)
	}
}

// A descriptor no header can declare the size of.
func TestDecodeTooLong(t *testing.T) {
	d := regs.Descriptor{}
	for range 9 {
		d.Records = append(d.Records, regs.Record{Addr: 0x1f800, Values: make([]uint32, 62)})
	}
	_, err := regs.Decode(d.Append(nil), 3, 0, 0)
	var e *regs.StreamError
	if !errors.As(err, &e) || e.Index != 3 || !strings.Contains(e.What, "descriptor has at least 514 words") {
		t.Errorf("error %v", err)
	}
}

func TestTasksModify(t *testing.T) {
	text := chainAt(threeAt, three()...)
	calls := 0
	s := regs.Stream{Text: text, Modify: func(f *regs.File) error {
		calls++
		return f.MaskedWrite(0x10, 0xff, uint32(100*calls))
	}}
	var f regs.File
	for task, err := range s.Tasks(&f) {
		if err != nil {
			t.Fatal(err)
		}
		if got := task.Groups.Common.Cout.Cout(); got != []uint32{100, 200, 300 & 0xff}[task.Index] {
			t.Errorf("task %d: Cout %d", task.Index, got)
		}
	}
	refused := errors.New("refused")
	s.Modify = func(f *regs.File) error {
		if w, _ := f.Load(0xc); w == 128 {
			return refused
		}
		return nil
	}
	var last error
	for _, last = range s.Tasks(&f) {
	}
	var e *regs.StreamError
	if !errors.As(last, &e) || e.Index != 1 || e.Off != 0x100 || !errors.Is(last, refused) {
		t.Errorf("error %v, want the hook's, of descriptor 1", last)
	}
}

func TestTasksWithoutBuffer(t *testing.T) {
	d := three()
	d[1].Records = append(d[1].Records, regs.Record{Addr: 0x17800, Values: []uint32{1}})
	d[1].Header.Bases = regs.HeaderBases(0).WithWBase(4).WithWBE(true)
	s := regs.Stream{Text: chainAt(threeAt, d...)}
	var f regs.File
	var last error
	for _, last = range s.Tasks(&f) {
	}
	var e *regs.StreamError
	var b *regs.BaseError
	if !errors.As(last, &e) || e.Index != 1 || !errors.As(last, &b) || b.Unit != "destination" || b.BAR != 4 {
		t.Errorf("error %v, want that descriptor 1 has no buffer 4", last)
	}
}

// storesAsApplied holds the walk of a text, which stores records in place, against the
// decoded descriptors of its chain.
func storesAsApplied(t *testing.T, text []byte, first int, chain []*regs.Descriptor) {
	t.Helper()
	var got, want regs.File
	s := regs.Stream{Text: text, FirstWords: first}
	s.Modify = func(f *regs.File) error {
		d := chain[0]
		chain = chain[1:]
		if err := d.Apply(&want); err != nil {
			t.Fatal(err)
		}
		if *f != want {
			t.Fatalf("after descriptor %d the register file is %v, want %v", d.Index, *f, want)
		}
		return nil
	}
	for _, err := range s.Tasks(&got) {
		if err != nil {
			return // a buffer that is not there, or where the chain breaks
		}
	}
	if len(chain) > 0 {
		t.Errorf("the walk ends before descriptor %d", chain[0].Index)
	}
}

// A walk takes memory for the chain, not for each descriptor.
func TestTasksAllocations(t *testing.T) {
	const n = 100
	var chain []*regs.Descriptor
	var at []uint32
	for i := range n {
		chain = append(chain, &regs.Descriptor{Records: []regs.Record{{Addr: 0, Values: make([]uint32, 16)}, {Addr: 0x1f800, Values: make([]uint32, 62)}}})
		at = append(at, uint32(0x200*i))
	}
	var f regs.File
	s := regs.Stream{Text: chainAt(at, chain...)}
	allocations := testing.AllocsPerRun(10, func() {
		for _, err := range s.Tasks(&f) {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	if allocations > n/10 {
		t.Errorf("%v allocations for %d descriptors", allocations, n)
	}
}

// TestTextFile checks that walking a text in a file yields the same tasks, states and errors
// as walking the text in memory.
func TestTextFile(t *testing.T) {
	far := func(n int, next func(i int) int) []byte { // n descriptors that a walk jumps about between
		chain := make([]*regs.Descriptor, n)
		at := make([]uint32, n)
		for i, k := 0, 0; i < n; i, k = i+1, next(k) {
			chain[i] = &regs.Descriptor{Records: []regs.Record{{Addr: 0, Values: []uint32{uint32(i), 2, 3}}}}
			at[i] = uint32(0x900 * k)
		}
		return chainAt(at, chain...)
	}
	two, first := twoSizes()
	long := far(500, func(i int) int { return i + 1 })
	for name, text := range map[string][]byte{
		"three": chainAt(threeAt, three()...), "two": two, "long": long,
		"back and forth": far(499, func(i int) int { return (i + 211) % 499 }),
		"cut":            long[:len(long)-8],
		"header":         long[:16],
		"ones":           bytes.Repeat([]byte{0, 0, 0, 0, 1, 0xf8, 1, 0}, 4000),
		"empty":          {},
	} {
		for _, words := range []int{0, first, 20, 600} {
			t.Run(fmt.Sprintf("%s, %d words", name, words), func(t *testing.T) { walksInFile(t, text, words) })
		}
	}
}

// walksInFile compares walks of a text in a file with walks of the text in memory.
func walksInFile(t *testing.T, text []byte, first int) {
	whole := regs.Stream{Text: text, FirstWords: first}
	inFile := regs.Stream{File: &regs.TextFile{R: bytes.NewReader(text), Bytes: uint64(len(text))}, FirstWords: first}
	next, stop := iter.Pull2(inFile.Tasks(new(regs.File)))
	defer stop()
	for want, err := range whole.Tasks(new(regs.File)) {
		got, gotErr, ok := next()
		if !ok || (err == nil) != (gotErr == nil) || err != nil && err.Error() != gotErr.Error() {
			t.Fatalf("%v, want %v", gotErr, err)
		}
		if err != nil {
			continue
		}
		g, w := got.Clone(), want.Clone()
		if g.Operands, w.Operands = nil, nil; *g != *w || *got.Operands != *want.Operands {
			t.Fatalf("task %d differs", want.Index)
		}
	}
	if _, _, more := next(); more {
		t.Error("the walk goes on")
	}
	n, states := 0, 0
	for range whole.States() {
		n++
	}
	for range inFile.States() {
		states++
	}
	if n != states {
		t.Errorf("%d states, want %d", states, n)
	}
}

// A file that ends before its text is an error with the place.
func TestTextFileEnds(t *testing.T) {
	text, first := twoSizes()
	s := regs.Stream{File: &regs.TextFile{R: bytes.NewReader(text[:0x210]), Bytes: uint64(len(text))}, FirstWords: first}
	var e *regs.StreamError
	for _, err := range s.Tasks(new(regs.File)) {
		if err != nil && (!errors.As(err, &e) || !errors.Is(err, io.EOF)) {
			t.Error(err)
		}
	}
	if e == nil {
		t.Error("no error")
	}
}

func FuzzChain(f *testing.F) {
	f.Add(chainAt(threeAt, three()...), 0)
	f.Add(chainAt(threeAt, three()...), 18)
	f.Fuzz(func(t *testing.T, text []byte, first int) {
		var chain []*regs.Descriptor
		sample := [1]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
		metrics.Read(sample[:])
		before := sample[0].Value.Uint64()
		for range regs.States(text, first) {
		}
		metrics.Read(sample[:])
		// The walk keeps its states for itself, and nothing else but the addresses of descriptors.
		// The runtime may count up to a megabyte for each processor that was allocated before.
		if n, most := sample[0].Value.Uint64()-before, uint64(4<<20+len(text)); n > most {
			t.Errorf("%d bytes cost %d, want at most %d", len(text), n, most)
		}
		for d, err := range regs.Chain(text, first) {
			if err != nil {
				var e *regs.StreamError
				if !errors.As(err, &e) || e.Index != len(chain) && e.Index != len(chain)-1 {
					t.Errorf("after %d descriptors: %v", len(chain), err)
				}
				break
			}
			chain = append(chain, d)
		}
		again := regs.EncodeChain(chain)
		for _, d := range chain {
			if !bytes.Equal(again[d.Offset:][:4*d.Words], text[d.Offset:][:4*d.Words]) {
				t.Errorf("descriptor %d changes", d.Index)
			}
		}
		storesAsApplied(t, text, first, chain)
		walksInFile(t, text, first)
	})
}

func FuzzDecode(f *testing.F) {
	for _, d := range three() {
		f.Add(d.Append(nil), uint32(0), 0)
		f.Add(append(make([]byte, 256), d.Append(nil)...), uint32(256), len(d.Append(nil))/4)
	}
	f.Fuzz(func(t *testing.T, text []byte, off uint32, words int) {
		d, err := regs.Decode(text, 0, off, words)
		if err != nil {
			return
		}
		if !bytes.Equal(d.Append(nil), text[off:][:4*d.Words]) {
			t.Error("the descriptor changes")
		}
		if words != 0 && d.Words != words {
			t.Errorf("%d words, %d declared", d.Words, words)
		}
		var file regs.File
		if err := d.Apply(&file); err != nil {
			t.Errorf("what decodes does not apply: %v", err)
		}
	})
}

// twoSizes is a chain of the two sizes of real programs: without coefficients, and with.
func twoSizes() (text []byte, firstWords int) {
	without := &regs.Descriptor{Records: []regs.Record{{Addr: 0x1f800, Values: make([]uint32, 18)}, {Addr: 0x1f8c8, Values: make([]uint32, 12)}}}
	with := &regs.Descriptor{Records: []regs.Record{{Addr: 0x1f800, Values: make([]uint32, 62)}}}
	windows := regs.V7Windows()
	for _, w := range windows[1:] {
		r := regs.Record{Addr: w.Base, Values: make([]uint32, w.Words)}
		without.Records = append(without.Records, r)
		with.Records = append(with.Records, r)
	}
	return chainAt([]uint32{0, 0x200}, without, with), without.Words
}

func BenchmarkDecodeChain(b *testing.B) {
	text, first := twoSizes()
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	n := 0
	for b.Loop() {
		for _, err := range regs.Chain(text, first) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "descriptors/s")
}

func BenchmarkTasks(b *testing.B) {
	text, first := twoSizes()
	s := regs.Stream{Text: text, FirstWords: first}
	var f regs.File
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	n := 0
	for b.Loop() {
		for _, err := range s.Tasks(&f) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "descriptors/s")
}

// A task gets the taps that its window needs by its index, unless it has another window.
func TestWindowTaps(t *testing.T) {
	const convCfg = 0x1c
	window := regs.ConvCfg{}.WithKh(3).WithKw(5).WithSx(1).WithSy(1)
	list := three() // the first writes the window, and the others keep it
	list[0].Records[0].Values = append(list[0].Records[0].Values, 0, 0, regs.Raw(window))
	s := regs.Stream{Text: chainAt(threeAt, list...), WindowTaps: map[int]regs.WindowTaps{0: {window, 4}, 2: {window, 9}}}
	for _, tc := range []struct {
		change func(regs.ConvCfg) regs.ConvCfg
		want   [3]int
	}{
		{nil, [3]int{4, 0, 9}},
		{func(c regs.ConvCfg) regs.ConvCfg { return c }, [3]int{4, 0, 9}},
		{func(c regs.ConvCfg) regs.ConvCfg { return c.WithPx(3).WithPy(2).WithOCGSize(4) }, [3]int{4, 0, 9}},
		{func(c regs.ConvCfg) regs.ConvCfg { return c.WithKw(4) }, [3]int{}},
		{func(c regs.ConvCfg) regs.ConvCfg { return c.WithKh(2) }, [3]int{}},
		{func(c regs.ConvCfg) regs.ConvCfg { return c.WithSx(2) }, [3]int{}},
		{func(c regs.ConvCfg) regs.ConvCfg { return c.WithSy(2) }, [3]int{}},
		{func(c regs.ConvCfg) regs.ConvCfg { return c.WithOx(2) }, [3]int{}},
		{func(c regs.ConvCfg) regs.ConvCfg { return c.WithOy(2) }, [3]int{}},
	} {
		if s.Modify = nil; tc.change != nil {
			s.Modify = func(f *regs.File) error {
				w, _ := f.Load(convCfg)
				return f.Store(convCfg, regs.Raw(tc.change(regs.FromRaw[regs.ConvCfg](w))))
			}
		}
		var got [3]int
		var last regs.ConvCfg
		for task, err := range s.Tasks(new(regs.File)) {
			if err != nil {
				t.Fatal(err)
			}
			got[task.Index], last = task.WindowTaps, task.Groups.Common.ConvCfg
		}
		if got != tc.want || last.Kh() == 0 {
			t.Errorf("window %#x: the tasks need %v taps, want %v", last, got, tc.want)
		}
	}
}

// A cached program keeps how many taps its tasks need: JSON has the bits of the window.
func TestWindowTapsAsJSON(t *testing.T) {
	w := regs.WindowTaps{Window: regs.ConvCfg{}.WithKw(3).WithKh(5), Taps: 4}
	text, err := json.Marshal(w)
	if err != nil || string(text) != `{"Window":163,"Taps":4}` {
		t.Errorf("%s, %v", text, err)
	}
	var got regs.WindowTaps
	if err := json.Unmarshal(text, &got); err != nil || got != w {
		t.Errorf("%+v, %v, want %+v", got, err, w)
	}
}

// Only a kernel in the scratch buffer has an extra header word. Weights may be in any buffer behind those of
// the ports, and that one's index may have the low bits of the scratch buffer's.
func TestExtraWordOfScratchKernelsAlone(t *testing.T) {
	for bar := range uint32(len(regs.BARs{})) {
		h := regs.Header{KernelBases: regs.HeaderKernelBases(0).WithKBE0(true).WithKBase0(bar)}
		if got := h.IsExtended(); got != (bar == regs.BARScratch) {
			t.Errorf("kernel in buffer %d: extra word %v", bar, got)
		}
	}
}
