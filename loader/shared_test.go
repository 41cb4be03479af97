package loader

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/internal/material"
)

// indexed is what index.json says of a program.
type indexed struct {
	Resources []string `json:"resource_addresses"`
	Text      string   `json:"text_address"`
	Constant  string   `json:"constant_address"`
	Tasks     int      `json:"task_count"`
	Words     int      `json:"first_task_words"`
	Section   struct {
		Size uint64 `json:"size"`
	} `json:"constant_section"`
	Tensors json.RawMessage `json:"tensors"`
}

type indexedTensor struct {
	Binding Direction `json:"binding"`
	Shape   [4]int    `json:"shape"`
	Strides [4]uint64 `json:"strides"`
	Bytes   uint64    `json:"total_bytes"`
}

// readIndex returns the index by program name.
func readIndex(t testing.TB) map[string]indexed {
	t.Helper()
	var index map[string]indexed
	if err := json.Unmarshal(material.Read(t, "programs/index.json"), &index); err != nil {
		t.Fatal(err)
	}
	return index
}

// TestTextPlacement compares the windows made for bare texts with the addresses the
// vendor's compiler gave the same programs.
func TestTextPlacement(t *testing.T) {
	index := readIndex(t)
	addresses, tensors := 0, 0
	for name, want := range index {
		p, err := Open(material.File(t, "programs/text/"+name+".text.bin"))
		if err != nil {
			t.Fatal(err)
		}
		l, err := p.Link()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(l.Tasks) != want.Tasks || p.FirstWords != want.Words {
			t.Errorf("%s: %d tasks, first of %d words; want %d, %d", name, len(l.Tasks), p.FirstWords, want.Tasks, want.Words)
		}
		if want.Text != "" {
			// The addresses are those of buffers 4 to 8.
			var got []string
			for _, a := range p.BARs[4:9] {
				got = append(got, hex(a))
			}
			if diff := cmp.Diff(want.Resources, got); diff != "" {
				t.Errorf("%s: surfaces (-want +got):\n%s", name, diff)
			}
			if got := hex(p.TextAddr); got != want.Text {
				t.Errorf("%s: text at %s, want %s", name, got, want.Text)
			}
			if got := hex(p.BARs[1]); got != want.Constant && want.Constant != "not read" {
				t.Errorf("%s: constants at %s, want %s", name, got, want.Constant)
			}
			addresses++
		}
		if s, _ := p.Segment("__TEXT", "__const"); s.Size != want.Section.Size {
			t.Errorf("%s: %#x bytes of constants, want %#x", name, s.Size, want.Section.Size)
		}
		var all []indexedTensor
		if json.Unmarshal(want.Tensors, &all) != nil {
			continue // three entries give a rule in words
		}
		var got []indexedTensor
		for _, q := range p.Ports {
			if q.Name != "weights" {
				got = append(got, indexedTensor{q.Direction, q.Shape, q.Strides, q.Bytes})
			}
		}
		for i := range all {
			if all[i].Shape[0] > 1 { // total_bytes is of one element of the batch
				all[i].Bytes *= uint64(all[i].Shape[0])
			}
		}
		if diff := cmp.Diff(all, got); diff != "" {
			t.Errorf("%s: ports (-want +got):\n%s", name, diff)
		}
		tensors++
	}
	if addresses != 39 || tensors != 38 {
		t.Errorf("compared the addresses of %d programs and the ports of %d, want 39 and 38", addresses, tensors)
	}
}

func hex(a uint64) string { return fmt.Sprintf("%#x", a) }
