package lower

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"
	"testing"

	"anesim/hw/regs"
	"anesim/internal/material"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/family"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// layoutRows reads a table of layout words, its first line without the mark of a comment.
func layoutRows(t *testing.T, name string) []map[string]string {
	t.Helper()
	r := csv.NewReader(bytes.NewReader(material.Read(t, "oracles/"+name)))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]string
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, key := range rows[0] {
			key, _, _ = strings.Cut(strings.TrimPrefix(key, "# "), "(")
			if i < len(row) {
				m[strings.TrimSpace(key)] = row[i]
			}
		}
		list = append(list, m)
	}
	return list
}

// numberIn reads a number in a base, or with 0x before it in hexadecimal.
func numberIn(s string, base int) int {
	if rest, ok := strings.CutPrefix(s, "0x"); ok {
		s, base = rest, 16
	}
	n, _ := strconv.ParseInt(s, base, 64)
	return int(n)
}

// The patch and the source's rows of every convolution in the table, whole or in tiles.
func TestConvolutionLayouts(t *testing.T) {
	patches, rows, heights, of := 0, 0, 0, 0
	for _, m := range layoutRows(t, "layout_conv.csv") {
		n := func(key string) int { return numberIn(m[key], 10) }
		k, err := strconv.Atoi(m["k"])
		if err != nil || strings.HasPrefix(m["name"], "L_matmul") || strings.HasPrefix(m["name"], "L_chain") || strings.HasPrefix(m["name"], "L_env_mm") {
			continue // not a square window, or none
		}
		in := layer.Shape{N: 1, C: n("Cin") * n("groups"), H: n("Hin"), W: n("Win")}
		w := layer.Window{Kh: k, Kw: k, Sy: n("s"), Sx: n("s")}
		w.Py, w.Px = (w.Sy*(n("Hout")-1)+k-in.H)/2, (w.Sx*(n("Wout")-1)+k-in.W)/2
		l := layer.Conv(in, n("Cout"), w)
		l.Groups = n("groups")
		if m["depthwise"] == "1" {
			l.Groups = in.C
		}
		src := family.ConvSource(&l)
		out := layer.Shape{N: 1, C: n("Cout"), H: n("Hout"), W: n("Wout")}
		task := family.ConvTask(&coeff.Convolution{Layer: &l, Weights: &layer.Weights{}}, src, regs.Shape{Groups: src.Groups, Channels: out.C, Height: out.H, Width: out.W})
		at := task.SourceTile()
		_, height := family.TileHeight(&l, src, out, &w, &at, task.HasFixedPatch())
		of++
		cfg := regs.FromRaw[regs.CommonCfg](uint32(numberIn(m["cfg"], 16)))
		_, g := task.Registers()
		c := g.Common.Cfg
		patches += count(cfg.ShMax() == c.ShMax() && cfg.ShMin() == c.ShMin() && cfg.ShPref() == c.ShPref() && cfg.SmallSourceMode() == c.SmallSourceMode())
		rows += count(at.Row == numberIn(m["row"], 16) && at.Channel == numberIn(m["cs"], 16))
		heights += count(height == n("TH"))
	}
	t.Logf("of %d: %d patches, %d rows, %d tile heights", of, patches, rows, heights)
	if of != wantLayouts || patches != wantPatches || rows != wantRows || heights != wantHeights {
		t.Errorf("of %d: %d patches, %d rows and %d tile heights are the compiler's; want %d: %d, %d and %d",
			of, patches, rows, heights, wantLayouts, wantPatches, wantRows, wantHeights)
	}
}

// The patch and the first source's tile of every planar task that loads it, and the patch
// of all.
func TestPlanarLayouts(t *testing.T) {
	patches, tiles, of, loaded := 0, 0, 0, 0
	for _, m := range layoutRows(t, "layout_planar.csv") {
		if m["eng"] != "PE" {
			continue
		}
		n := func(key string) int { return numberIn(m[key], 10) }
		hex := func(key string) int { return numberIn(m[key], 16) }
		s := regs.Shape{Groups: hex("G") & 0x1fff, Channels: n("C"), Height: n("H"), Width: n("W")}
		form := regs.FromRaw[regs.CommonCfg](uint32(hex("cfg"))).PlanarForm()
		made := task.Planar{Form: form, In: s, Depth: n("D")}.Task()
		of++
		_, g := made.Registers()
		patch := g.Common.PlanarPatch
		patches += count(int(patch.Log2W())|int(patch.Log2H())<<4 == hex("pp"))
		if source := regs.FromRaw[regs.L2Route](uint32(hex("S1cfg"))); source.Type() == 0 {
			continue
		}
		loaded++
		at := made.PlanarTile()
		if form == regs.FormReduction && regs.FromRaw[regs.L2Route](uint32(hex("S1cfg"))).Type() != task.KeptTile {
			at = made.SkewedPlanarTile()
		}
		tiles += count(at.Channel == hex("S1c") && at.Row == hex("S1r"))
	}
	t.Logf("of %d: %d patches; of %d loaded: %d tiles", of, patches, loaded, tiles)
	if of != wantPlanar || patches != wantPlanarPatches || loaded != wantLoaded || tiles != wantTiles {
		t.Errorf("of %d: %d patches, of %d: %d tiles are the compiler's; want of %d: %d, of %d: %d",
			of, patches, loaded, tiles, wantPlanar, wantPlanarPatches, wantLoaded, wantTiles)
	}
}

// What holds of the tables' rows. Not held: convolutions that take columns, whose tiles
// TakeColumns sets, and planar patches that a task on the MAC engines takes tile by tile,
// which LinkedPatch sets.
const (
	wantLayouts, wantPatches, wantRows, wantHeights      = 116, 114, 112, 114
	wantPlanar, wantPlanarPatches, wantLoaded, wantTiles = 75, 66, 34, 29
)
