// Package params is the run-time parameters of a program: the bars and live-ins that a
// loader writes into bit fields of its descriptors before they run, so that one compiled
// program serves a range of shapes.
//
//	parameter k = 96, 32 to 128 by 32
//	   |
//	   +--> Common.Cin.Cin                      k         input channels
//	   +--> KernelDMASrc.CoeffBaseAddr[3].Addr  6*k >>6   where a lane's coefficients begin
//	   +--> TileDMASrc.Src1RowStride.Value      64*k >>6  bytes from row to row
//	   +--> shape of input y                    - - k -   what the host fills
//
// A container has no place for them, so they stand in a text file beside it, a line each:
//
//	param k 96 32 128 32                     # name, value, start, stop, step
//	live-in 0 Common.Cin.Cin k               # descriptor, field, value
//	live-in 0 TileDMASrc.Src1RowStride.Value 64*k >>6
//	address 0 TileDMASrc.Src1Base.Value b5+0x40 >>6
//	offset 0 TileDMASrc.Src1Base.Value 0x40 >>6
//	data-set 0 L2.Cfg.InputReLU 0
//	shape input y - - k -                    # N, C, H, W
//	strides input y 2048*k 2048*k - -        # in bytes
//
// A live-in, a size or a stride is a parameter, times and plus numbers; - is a size or a
// stride that stays. >>N says that a field counts units of 1<<N. A value outside its
// parameter's range or too wide for its field is refused with the field's name.
//
// Derive finds a program's parameters by lowering it at every size of a range and keeping
// what follows the size in a straight line.
package params
