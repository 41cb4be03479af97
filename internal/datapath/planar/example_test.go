package planar_test

import (
	"fmt"

	"github.com/x448/float16"

	"anesim/internal/datapath/planar"
)

func splitHalves(vs ...float32) []float16.Float16 {
	out := make([]float16.Float16, len(vs))
	for i, v := range vs {
		out[i] = float16.Fromfloat32(v)
	}
	return out
}

func ExampleConfig_Apply() {
	a, b := splitHalves(3), splitHalves(2)
	out := splitHalves(0)
	for _, op := range []planar.Op{planar.Mul, planar.Add} {
		c := planar.Neutral(op)
		c.Apply(out, a, b)
		fmt.Println(op, out[0])
	}
	// Output:
	// mul 6
	// add 5
}

// The fields of the compiler's subtraction.
func ExampleFromFields() {
	c, err := planar.FromFields(planar.FormTwo, planar.Fields{
		Op:         planar.Add,
		Second:     3, // negated
		Scale:      0x3c00,
		PreScale:   0x3c00,
		FinalScale: 1,
	})
	fmt.Println(c.Op, c.Negate2, c.Scale, c.FinalScale, err)
	// Output: add true 1 1 <nil>
}

func ExampleConfig_Reduce() {
	x := planar.Source{Data: splitHalves(1, 2, 3, 4, 10, 20, 30, 40), Shape: planar.Shape{C: 2, H: 2, W: 2}}
	mean := planar.Neutral(planar.Add)
	mean.FinalScale = 1.0 / 4
	out := splitHalves(0, 0)
	err := mean.Reduce(out, planar.AxisH|planar.AxisW, x)
	fmt.Println(out, err)
	// Output: [2.5 25] <nil>
}

func ExampleWidthSliceGain() {
	x := splitHalves(-1, 4094, 4096)
	planar.WidthSliceGain(x, x)
	fmt.Println(x)
	// Output: [-1 4094 +Inf]
}
