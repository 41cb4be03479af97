package bench

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim"
	"anesim/hw"
	"anesim/internal/vectors"
	"anesim/loader/lower"
	goldenfiles "anesim/vectors"
)

var update = flag.Bool("update", false, "rewrite the derived cases of package vectors")

// goldenSeed makes the inputs of the derived cases.
const goldenSeed = 1

// goldens returns the derived cases, computed by the current model for every example on every chip.
func goldens(t *testing.T) (list []vectors.Case[vectors.Golden]) {
	t.Helper()
	for _, name := range lower.Examples() {
		for _, chip := range hw.Chips() {
			r := sound(t, example(t, name), anesim.Options{Chip: chip, Values: true, Seed: goldenSeed})
			list = append(list, vectors.Case[vectors.Golden]{
				Name:   fmt.Sprintf("example %s on %s", name, chip.Name),
				Origin: vectors.Derived,
				Source: "this model",
				Data:   golden(name, chip.Name, r),
				File:   path.Join(vectors.ExamplesFamily, name+"_"+chip.Name+".json"),
			})
		}
	}
	return list
}

func golden(example, chip string, r *anesim.Result) vectors.Golden {
	g := vectors.Golden{Example: example, Chip: chip, Seed: goldenSeed}
	for i := range r.Report.Descriptors {
		d := &r.Report.Descriptors[i]
		x := vectors.GoldenDescriptor{
			Op: d.Op.String(), Exe: d.Exe.Model, MACs: d.MACs,
			Cycles: causes(d), Units: units(d), Counters: make(map[string]uint64),
			DMA: map[string]uint64{
				"source1": d.DMA.Source1, "source2": d.DMA.Source2,
				"kernel": d.DMA.Kernel, "destination": d.DMA.Destination,
			},
		}
		for name, v := range d.Counters.All() {
			x.Counters[name] = v
		}
		g.Descriptors = append(g.Descriptors, x)
	}
	for _, o := range r.Outputs {
		g.Outputs = append(g.Outputs, vectors.GoldenOutput{Name: o.Port.Name, Shape: o.Port.Shape, CRC32: checksum(o.Data)})
	}
	return g
}

// causes returns the descriptor's cycles by the names that reports use for their causes.
func causes(d *hw.DescriptorReport) map[string]uint64 {
	a := &d.Cycles
	return map[string]uint64{
		"compute": uint64(a.Compute), "input_stall": uint64(a.InputStall), "output_stall": uint64(a.OutputStall),
		"kernel_stall": uint64(a.KernelStall), "throttle": uint64(a.Throttle), "l2_read_stall": uint64(a.L2ReadStall),
		"l2_write_stall": uint64(a.L2WriteStall), "overhead": uint64(a.Overhead), "idle": uint64(a.Idle),
	}
}

// units returns the descriptor's cost columns by the names that reports use for them.
func units(d *hw.DescriptorReport) map[string]uint64 {
	u := &d.Units
	return map[string]uint64{
		"work_units": uint64(u.WorkUnits), "mac_cycles_per_wu": uint64(u.MACCyclesPerWU),
		"post_cycles_per_wu": uint64(u.PostCyclesPerWU), "ne_single": uint64(u.NESingle), "ne_double": uint64(u.NEDouble),
		"planar": uint64(u.Planar), "l2_broadcast": uint64(u.L2Broadcast), "l2_writeback": uint64(u.L2Writeback),
		"kernel_bytes": u.KernelBytes,
	}
}

func checksum(data []half) string {
	b := make([]byte, 0, 2*len(data))
	for _, h := range data {
		b = binary.LittleEndian.AppendUint16(b, h.Bits())
	}
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(b))
}

// rewrite writes the derived cases to dir, which is a copy of the directory vectors.
func rewrite(t *testing.T, dir string) {
	t.Helper()
	for _, c := range goldens(t) {
		if err := c.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// The examples give the same results as before. A difference is a change of the model: when it is
// meant, -update rewrites the cases.
func TestDerivedCases(t *testing.T) {
	if *update {
		rewrite(t, filepath.Join("..", "vectors"))
		t.Log("rewritten; the next run reads them")
		return
	}
	want := make(map[string]vectors.Case[vectors.Golden])
	for _, c := range cases(t, vectors.Examples) {
		want[c.File] = c
	}
	for _, c := range goldens(t) {
		if d := cmp.Diff(want[c.File], c); d != "" {
			t.Errorf("%s (-was +is):\n%s", c.File, d)
		}
		delete(want, c.File)
	}
	for file := range want {
		t.Errorf("%s is of no example", file)
	}
}

// An update writes derived cases and nothing else: measurements stay.
func TestUpdateWritesOnlyDerivedCases(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, goldenfiles.FS()); err != nil {
		t.Fatal(err)
	}
	before := make(map[string]string)
	walk(t, dir, func(name, data string) {
		before[name] = data
		if inside, _ := path.Match(vectors.ExamplesFamily+"/*", name); inside {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("stale"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	})
	rewrite(t, dir)
	after := make(map[string]string)
	walk(t, dir, func(name, data string) {
		after[name] = data
		if data == "stale" {
			t.Errorf("%s is not rewritten", name)
		}
	})
	for name, data := range before {
		if inside, _ := path.Match(vectors.ExamplesFamily+"/*", name); !inside && after[name] != data {
			t.Errorf("%s is written", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files before, %d after", len(before), len(after))
	}
}

func walk(t *testing.T, dir string, visit func(name, data string)) {
	t.Helper()
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(root, name)
		visit(name, string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
