package lower

import (
	"fmt"
	"testing"
)

// The numbers of tasks that Apple's compiler makes of whole families of chains hold at sizes that no row
// of the facts has.
func TestChainFamilies(t *testing.T) {
	tasks := func(name string) int {
		t.Helper()
		b := NewChain(t, nil)
		b.SizesOnly = true
		if !b.Chain(name) {
			t.Fatalf("%s: no such chain", name)
		}
		j, err := b.Net.Join()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return 0
		}
		return len(j.Builder.Chain)
	}
	check := func(name string, want int) {
		t.Helper()
		if got := tasks(name); got != want {
			t.Errorf("%s: %d tasks, want %d", name, got, want)
		}
	}
	// 9 + 2 (S/128 - 1) tasks from 128 rows on, as many of every head size; 3 a head more.
	for s := 128; s <= 640; s += 128 {
		for _, dh := range []int{32, 64, 96} {
			check(fmt.Sprintf("attn_s%d_dh%d", s, dh), 9+2*(s/128-1))
		}
	}
	for heads := 2; heads <= 8; heads++ {
		check(fmt.Sprintf("attn_s128_dh64_h%d", heads), 9+3*(heads-1))
	}
	// A normalised projection: 5 up to 192 rows, 2 more for every 192 that are begun.
	// (From 768 on the coefficients are more than the engines hold above 128 rows.)
	for _, d := range []int{256, 512, 768, 1024} {
		for _, s := range []int{64, 128, 192, 256, 384, 512} {
			if d <= 512 || s <= 128 {
				check(fmt.Sprintf("lnproj_d%d_s%d", d, s), 5+2*((s+191)/192-1))
			}
		}
	}
	// A projected block: 25 at a width of 256, 2 more for every 256; a stack is periodic.
	for d := 256; d <= 1024; d += 256 {
		check(fmt.Sprintf("block_d%d_s64_proj1", d), 25+2*(d/256-1))
	}
	for n := 2; n <= 4; n++ {
		check(fmt.Sprintf("stack%d_d256_s64_proj1", n), 25*n)
	}
	// A write-back task at 64 rows, none from 128 on.
	for d := 128; d <= 640; d += 128 {
		check(fmt.Sprintf("ffn_d%d_s64", d), 4)
		check(fmt.Sprintf("ffn_d%d_s128", d), 3)
		check(fmt.Sprintf("resffn_d%d_s64", d), 5)
	}
}
