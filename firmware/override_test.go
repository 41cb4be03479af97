package firmware

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"anesim/hw/regs"
)

func TestParseOverride(t *testing.T) {
	for _, tc := range []struct {
		text string
		addr uint32
		old  uint32
		want uint32 // the word after the override
		name string // as String writes it
	}{
		{"PE.Cfg.OpMode=1", 0x8800, 0x8_0000, 0x8_0004, "PE.Cfg.OpMode=0x1"},
		{"G4.Cfg.OpMode=1", 0x8800, 0xffff_ffff, 0xffff_ffe7, "PE.Cfg.OpMode=0x1"},
		{"pe.CFG.opmode=0X4", 0x8800, 0, 0x10, "PE.Cfg.OpMode=0x4"},
		{"Common.InDim=0x10001", 0, 0x4000_4000, 0x1_0001, "Common.InDim=0x10001"},
		{" Common.InDim.Hin = 64 ", 0, 0x10, 0x40_0010, "Common.InDim.Hin=0x40"},
		{"KernelDMASrc.CoeffDMAConfig[3].En=0", 0x1f814, 0x81, 0x80, "KernelDMASrc.CoeffDMAConfig[3].En=0x0"},
		{"PE.FinalScale.FinalScale=0xffffffff", 0x880c, 0, math.MaxUint32, "PE.FinalScale.FinalScale=0xffffffff"},
		{"NE.PostScale=4294967295", 0xc810, 0, math.MaxUint32, "NE.PostScale=0xffffffff"},
		{"TileDMADst.DstBase=0x40", 0x17804, 0, 0x40, "TileDMADst.DstBase.Value=0x40"},
		{"PE.Cfg=-1", 0x8800, 0, math.MaxUint32, "PE.Cfg=0xffffffff"},
		{"Common.TileCfg.TileHeight=010", 0x28, 0, 10, "Common.TileCfg.TileHeight=0xa"},
	} {
		o, err := ParseOverride(tc.text)
		if err != nil {
			t.Errorf("%q: %v", tc.text, err)
			continue
		}
		var f regs.File
		if err := f.Store(tc.addr, tc.old); err != nil {
			t.Fatal(err)
		}
		if err := o.Apply(&f); err != nil {
			t.Errorf("%q: %v", tc.text, err)
		}
		if got, _ := f.Load(tc.addr); got != tc.want || o.String() != tc.name {
			t.Errorf("%q: %v makes %#x of %#x, want %#x", tc.text, o, got, tc.old, tc.want)
		}
		if again, err := ParseOverride(o.String()); err != nil || again.String() != o.String() {
			t.Errorf("%v reads as %v, %v", o, again, err)
		}
	}
}

func TestParseOverrideErrors(t *testing.T) {
	for _, tc := range []struct {
		text string
		what string
		near []string
	}{
		{"PE.Cfg.OpMode", "missing value", nil},
		{"OpMode=1", "malformed name; want GROUP.REGISTER.FIELD=VALUE", nil},
		{"PE.Cfg.OpMode.x=1", "malformed name; want GROUP.REGISTER.FIELD=VALUE", nil},
		{"=1", "malformed name; want GROUP", nil},
		{"P.Cfg.OpMode=1", `unknown register group "P"`, []string{"PE"}},
		{"Foo.Bar=1", `unknown register group "Foo"; want one of KernelDMASrc, Common, TileDMASrc, L2, PE, NE, TileDMADst`, nil},
		{"G7.Cfg=1", `unknown register group "G7"; want one of KernelDMASrc, `, nil},
		{"Header.Bases=1", `Header.Bases is in the descriptor's header, which has no registers to set; edit it in the output of "dump --text"`, nil},
		{"header.Bases.X=1", `header.Bases is in the descriptor's header`, nil},
		{"CCDMA.Config=1", `does not exist in the M1's engine`, nil},
		{"Comon.InDim=1", `unknown register group "Comon"`, []string{"Common"}},
		{"PE.Cgf=1", `group PE has no register "Cgf"`, []string{"Cfg"}},
		{"G1.OutDims.Wout=1", `group G1 has no register "OutDims"`, []string{"OutDim"}},
		{"PE.Cfg.OpMod=1", `register PE.Cfg has no field "OpMod"`, []string{"OpMode"}},
		{"Common.Reserved08.X=1", `register Common.Reserved08 has no field "X"`, nil},
		{"KernelDMASrc.CoeffDMAConfig.En=1", `no register "CoeffDMAConfig"`, []string{"CoeffDMAConfig[0]"}},
		{"PE.Cfg.OpMode=8", "8 does not fit in the 3 bits of OpMode; want -0x4 to 0x7", nil},
		{"PE.Cfg=0x100000000", "value 0x100000000 does not fit in 32 bits", nil},
		{"PE.Cfg=", `invalid value ""`, nil},
		{"PE.Cfg=-2147483649", "value -2147483649 does not fit in 32 bits", nil},
		{"TileDMADst.DstBase=0x30", "0x30 is not a multiple of 64 bytes, the unit of Value", nil},
		{"TileDMADst.DstBase.Value=0x30", "0x30 is not a multiple of 64 bytes, the unit of Value", nil},
		{"PE.Cfg=0x", `invalid value "0x"`, nil},
		{"PE.Cfg=mul", `invalid value "mul"`, nil},
		{"PE.Cfg=1=2", `invalid value "1=2"`, nil},
	} {
		_, err := ParseOverride(tc.text)
		var e *OverrideError
		if !errors.As(err, &e) || e.Text != tc.text || !strings.Contains(e.What, tc.what) {
			t.Errorf("%q: %v, want %s", tc.text, err, tc.what)
			continue
		}
		if len(e.Near) < len(tc.near) || !slices.Equal(e.Near[:len(tc.near)], tc.near) || tc.near == nil && e.Near != nil {
			t.Errorf("%q: nearest %q, want %q first", tc.text, e.Near, tc.near)
		}
		for _, n := range e.Near {
			if !strings.Contains(err.Error(), n) {
				t.Errorf("%q: the message does not say %s: %v", tc.text, n, err)
			}
		}
	}
}

// TestRunOverrides checks that overrides apply after each descriptor's records and after
// modifications of the stream.
func TestRunOverrides(t *testing.T) {
	c := New(Known())
	for _, text := range []string{"Common.Cin.Cin=0x10", "Common.Cin=5"} {
		o, err := ParseOverride(text)
		if err != nil {
			t.Fatal(err)
		}
		c.Overrides = append(c.Overrides, o)
	}
	s := chain()
	var seen []uint32
	s.Modify = func(f *regs.File) error {
		w, _ := f.Load(0xc)
		seen = append(seen, w)
		return f.Store(0xc, 9)
	}
	d := &recorder{haltAt: -1}
	if _, err := c.Run(s, d); err != nil {
		t.Fatal(err)
	}
	if want := []uint32{5, 5, 5}; !slices.Equal(d.cin, want) {
		t.Errorf("channels %d, want %d", d.cin, want)
	}
	if want := []uint32{64, 5, 32}; !slices.Equal(seen, want) {
		t.Errorf("the stream's own change saw %d, want %d", seen, want)
	}
	refused := errors.New("refused")
	s.Modify = func(*regs.File) error { return refused }
	var e *regs.StreamError
	if _, err := c.Run(s, d); !errors.Is(err, refused) || !errors.As(err, &e) || e.Index != 0 {
		t.Errorf("error %v, want the stream's own", err)
	}
	s.Modify = nil
	c.Overrides = []Override{{Register: regs.Register{Group: "G1", Word: 99}}}
	var a *regs.AddressError
	if _, err := c.Run(s, d); !errors.As(err, &a) || !errors.As(err, &e) || e.Index != 0 {
		t.Errorf("error %v, want an address error of descriptor 0", err)
	}
}

func FuzzParseOverride(f *testing.F) {
	for _, s := range []string{"PE.Cfg.OpMode=1", "Common.InDim=0x10001", "G0.CoeffBaseAddr[15].Addr=3", "a.b.c=d", "..=", "PE.Cfg=0x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, err := ParseOverride(s)
		if err != nil {
			if e := (*OverrideError)(nil); !errors.As(err, &e) {
				t.Errorf("error of type %T: %v", err, err)
			}
			return
		}
		var file regs.File
		if err := o.Apply(&file); err != nil {
			t.Error(err)
		}
		if again, err := ParseOverride(o.String()); err != nil || again.String() != o.String() {
			t.Errorf("%v reads as %v, %v", o, again, err)
		}
	})
}
