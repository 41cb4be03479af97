package npy_test

import (
	"bytes"
	"fmt"

	"github.com/x448/float16"

	"anesim/tools/anesim/internal/npy"
)

func Example() {
	half := float16.Fromfloat32
	var file bytes.Buffer
	if err := npy.Write(&file, []int{2, 1}, []float16.Float16{half(1), half(-0.5)}); err != nil {
		fmt.Println(err)
		return
	}
	a, err := npy.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	fmt.Println(a.Shape, a.Data, err)
	// Output: [2 1] [1 -0.5] <nil>
}
