// Package params implements the run-time parameters of a program: bars and live-ins that a
// loader writes into bit fields of the descriptors before they run. With them, one compiled
// program serves a range of shapes.
//
//	parameter k = 96, 32 to 128 by 32
//	   |
//	   +--> Common.Cin.Cin                      k         input channels
//	   +--> KernelDMASrc.CoeffBaseAddr[3].Addr  6*k >>6   start of a lane's weights
//	   +--> TileDMASrc.Src1RowStride.Value      64*k >>6  bytes from row to row
//	   +--> shape of input y                    - - k -   filled by the host
//
// A container cannot store them, so they are stored in a separate text file with one item
// per line:
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
// The value of a live-in, a size or a stride is a linear function of one parameter. - is a
// size or a stride that does not change. >>N says that a field counts units of 1<<N. A
// value outside its parameter's range or too wide for its field is an error with the
// field's name.
//
// Derive finds a program's parameters by compiling it at every size of a range and
// comparing the results.
package params
