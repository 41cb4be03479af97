package relations

import (
	"encoding/csv"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// No row of a table moves more bytes in its working time than memory does, and the times of the
// rows, without overlap, sum to the total: for the descriptors of layers, for the layers of networks
// and for the descriptors of their programs.
func TestRowsKeepToTheBandwidth(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	var runs [][]string
	for _, file := range []string{"decode.yaml", "observed.yaml", "mobilenetv2.yaml", "resnet50.yaml", "transformer.yaml", "decoder-step.onnx", "picture.mil", "classifier.mlpackage"} {
		path := filepath.Join(examples, file)
		runs = append(runs, []string{"model", path})
		anesimOK(t, "model", path, "--emit", file+".hwx", "--json")
		programs, err := filepath.Glob(file + "*.hwx")
		if err != nil || len(programs) == 0 {
			t.Fatalf("%s: %d programs, %v", file, len(programs), err)
		}
		for _, p := range programs {
			runs = append(runs, []string{"run", p, "--timing-only"})
		}
	}
	for _, words := range []string{
		"deconv cin=64 h=32 w=32 cout=64 k=4 stride=2 pad=1", "deconv cin=128 h=21 w=42 cout=128 k=1 stride=2", "deconv cin=128 h=17 w=40 cout=128 k=2 stride=3",
		"deconv cin=256 h=38 w=53 cout=128 k=3 stride=2", "softmax c=64 h=32 w=32", "layernorm c=256 h=1 w=64", "linear m=256 k=1024 n=1024", "conv cin=256 h=64 w=64 cout=512 k=1",
	} {
		runs = append(runs, append(append([]string{"layer"}, strings.Fields(words)...), "--timing-only"))
	}
	overlaps := 0
	for _, args := range runs {
		name := strings.Join(args, " ")
		var doc struct {
			Total struct {
				TimeNs float64 `json:"time_ns"`
			}
			Peak struct {
				Rate float64 `json:"gb_per_s"`
			}
		}
		if err := json.Unmarshal([]byte(anesimOK(t, append(args, "--json")...)), &doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows, err := csv.NewReader(strings.NewReader(anesimOK(t, append(args, "--csv")...))).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		column := map[string]int{}
		for i, title := range rows[0] {
			column[title] = i
		}
		bytes, ok := column["dma_total"]
		if !ok {
			bytes = column["dma_bytes"]
		}
		sum := 0.0
		for i, row := range rows[1:] {
			number := func(c int) float64 {
				if row[c] == "" {
					return 0 // a layer that has no cost
				}
				v, err := strconv.ParseFloat(row[c], 64)
				if err != nil {
					t.Fatalf("%s: row %d: %v", name, i, err)
				}
				return v
			}
			moved, took, working := number(bytes), number(column["time_ns"]), number(column["working_ns"])
			sum += took
			if moved > doc.Peak.Rate*took {
				overlaps++
			}
			if moved > 1.001*doc.Peak.Rate*working {
				t.Errorf("%s: row %d moves %.0f bytes in %.1f ns, which is more than %.1f GB/s", name, i, moved, working, doc.Peak.Rate)
			}
		}
		if d := sum - doc.Total.TimeNs; d > 1e-6*sum || d < -1e-6*sum {
			t.Errorf("%s: rows of %.1f ns in a total of %.1f ns", name, sum, doc.Total.TimeNs)
		}
	}
	if overlaps == 0 {
		t.Error("no row overlaps with another, so the working time is not tested")
	}
}
