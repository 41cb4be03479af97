package driver_test

import (
	"testing"

	"anesim/internal/firmware/driver"
)

// The documents' tables, copied apart from the code: every selector by number, name and
// four sizes, with what an open client with every right gets at exactly those sizes.
var documented = map[driver.Kind][]struct {
	name                         string
	scalarIn, in, scalarOut, out uint32
	returns                      driver.Return
}{
	driver.Control: {
		{"ANE_DeviceOpen", 0, 104, 0, 104, driver.Busy}, // it is open already
		{"ANE_DeviceClose", 0, 0, 0, 0, driver.Success},
		{"ANE_ProgramSendRequest", 1, 2376, 0, 40, driver.NotFound},
		{"ANE_ProgramCreate", 0, 32, 0, 0, driver.Success},
		{"ANE_ProgramPrepare", 0, 56, 0, 56, driver.NotFound},
		{"ANE_ProgramUnprepare", 0, 56, 0, 0, driver.NotFound},
		{"ANE_ProgramDestroy", 0, 16, 0, 0, driver.NotFound},
		{"ANE_GetStatus", 0, 0, 0, 32, driver.Success},
		{"ANE_ProgramCreateInstance", 0, 32, 0, 0, driver.NotFound},
		{"ANE_ProgramChainingPrepare", 0, 16, 0, 24, driver.NotFound},
		{"ANE_GetVersion", 0, 0, 1, 0, driver.Success},
		{"ANE_RegisterDebugWorkProcessor", 0, 24, 0, 0, driver.Unsupported},
		{"ANE_UnregisterDebugWorkProcessor", 0, 0, 0, 0, driver.Unsupported},
		{"ANE_GetDebugWorkProcessorItem", 2, 0, 0, 0, driver.Unsupported},
		{"ANE_CompleteDebugWorkProcessorItem", 2, 0, 0, 0, driver.Unsupported},
		{"ANE_ReleaseDebugWorkProcessorBuffers", 0, 0, 0, 0, driver.Unsupported},
		{"ANE_LoadFirmware", 3, 0, 0, 0, driver.Unsupported},
	},
	driver.DirectPath: {
		{"ANE_DeviceOpen", 0, 104, 0, 104, driver.Busy},
		{"ANE_DeviceClose", 0, 0, 0, 0, driver.Success},
		{"ANE_ProgramSendRequest", 1, 2376, 0, 40, driver.NotFound},
		{"ANE_ProgramOutputSetEnqueue", 0, 40, 0, 0, driver.NotFound},
		{"ANE_ProgramInputsReady", 0, 3104, 0, 0, driver.NotFound},
		{"ANE_MemoryMapRequest", 1, 2080, 1, 0, driver.NoMemory}, // of no bytes
		{"ANE_MemoryUnMapRequest", 0, 2080, 0, 0, driver.NotFound},
		{"ANE_SessionHintRequest", 0, 16, 0, 24, driver.Success},
		{"ANE_ProgramChainingSetActiveProcedure", 0, 32, 0, 0, driver.NotFound},
	},
}

// Every selector at its exact size, and each of the four counts one off either way: any
// size but the exact one is BadArgument, 0xe00002c2, before anything else is looked at.
func TestEverySelectorAtItsSizeAndOneOff(t *testing.T) {
	if driver.BadArgument != 0xe00002c2 || driver.Unsupported != 0xe00002c7 {
		t.Errorf("%#x, %#x", uint32(driver.BadArgument), uint32(driver.Unsupported))
	}
	for k, rows := range documented {
		table := driver.Selectors(k)
		if len(table) != len(rows) {
			t.Fatalf("%v: %d selectors, the documents have %d", k, len(table), len(rows))
		}
		for i, want := range rows {
			s := &table[i]
			if s.Number != uint32(i) || s.Name != want.name || s.Sizes != (driver.Sizes{ScalarsIn: want.scalarIn, StructIn: want.in, ScalarsOut: want.scalarOut, StructOut: want.out}) {
				t.Errorf("%v %d: %+v, the documents have %+v", k, i, s, want)
				continue
			}
			opened := func() *driver.Client {
				d, _ := boot(t)
				c := client(t, d, k, everything)
				open(t, c, k)
				return c
			}
			if r := opened().Call(s.Number, arguments(s)); r.Return != want.returns {
				t.Errorf("%v %s at its sizes: %v, want %v", k, s.Name, r.Return, want.returns)
			}
			sizes := [4]uint32{want.scalarIn, want.in, want.scalarOut, want.out}
			for part := range sizes {
				for _, by := range []int{-1, 1} {
					if sizes[part] == 0 && by < 0 {
						continue
					}
					n := sizes
					n[part] = uint32(int(n[part]) + by)
					a := driver.Arguments{Scalars: make([]uint64, n[0]), Struct: make([]byte, n[1]), ScalarsOut: n[2], StructOut: n[3]}
					if r := opened().Call(s.Number, a); r.Return != driver.BadArgument {
						t.Errorf("%v %s with sizes %d: %v", k, s.Name, n, r.Return)
					}
					d, _ := boot(t)
					if r := client(t, d, k, everything).Call(s.Number, a); r.Return != driver.BadArgument {
						t.Errorf("%v %s with sizes %d before the open: %v", k, s.Name, n, r.Return)
					}
				}
			}
		}
	}
}
