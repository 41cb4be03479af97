package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"anesim/bench"
	ox "anesim/internal/network/onnxtest"
	"anesim/loader/lower"
)

// A hungry command took far more memory than the size of its input in an earlier version.
type hungry struct {
	name string
	args []string
	data func(t *testing.T) []byte // of the file FILE; nil for none
	size int64                     // of FILE, zeros behind the data
	want string                    // in what it prints; "" where it succeeds
	most int                       // resident memory at its highest, MB
}

// TestPeakMemory runs commands on large inputs, each in a process of its own, and compares the
// peak of the resident memory with a limit for that input. The program itself takes 17 MB. LONG=1
// uses all cases with inputs of full size.
func TestPeakMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("inputs of many megabytes, each in a process of its own, are too slow for a short run")
	}
	descriptors, side, in := 70_000, "1024", 32 // MB of a tensor in fp16
	nodes, channels, weights := 90_000, "4096", 32
	numbers, hostRows := 8<<20, 1<<13
	if os.Getenv("LONG") != "" {
		descriptors, side, in = 300_000, "2048", 128
		nodes, channels, weights = 625_000, "8192", 128
		numbers, hostRows = 32<<20, 1<<15
	}
	long, small := chainText(descriptors), chainText(4_000)
	cases := []hungry{
		{"16 MiB of YAML", []string{"model", "FILE.yaml"}, repeated("inputs:\n  x: {c: 32, h: 14, w: 14}\nlayers:\n", "  - {op: relu}\n", 16<<20), 0, "line breaks and YAML indicators", 60},
		{"16 MiB of YAML in a list", []string{"model", "FILE.yaml"}, repeated("a: [1", ",1", 16<<20-8), 0, "line breaks and YAML indicators", 60},
		{"16 MiB of YAML, all open", []string{"model", "FILE.yaml"}, repeated("", "[", 16<<20-8), 0, "line breaks and YAML indicators", 60},
		{"too many ONNX nodes", []string{"model", "FILE.onnx"}, func(*testing.T) []byte {
			return ox.Model(bytes.Repeat(ox.Message{}.Bytes(1, ox.Message{}.Text(4, "Relu")), nodes))
		}, 0, "limit of 65536 nodes", 70},
		{"numbers in an initialiser", []string{"model", "FILE.onnx"}, func(*testing.T) []byte {
			const int32Type = 6
			tensor := ox.Message{}.Int(1, numbers).Int(2, int32Type).Bytes(5, bytes.Repeat([]byte{1}, numbers)).Text(8, "w")
			return ox.Model(ox.Message{}.Bytes(5, tensor))
		}, 0, "", 21 + numbers>>19},
		// A row takes 512 bytes as float64, and a tensor is kept until its last reader. The limit
		// has room for 8 of the 17 tensors.
		{"16 layers that the host computes", []string{"model", "--values", "FILE.onnx"}, func(*testing.T) []byte {
			parts, from := []ox.Message{ox.Input("x", hostRows, 1<<6), ox.Output("y")}, "x"
			for i := range 16 {
				to := "y"
				if i < 15 {
					to = "t" + strconv.Itoa(i)
				}
				parts = append(parts, ox.Node("Relu", to, []string{from}))
				from = to
			}
			return ox.Model(parts...)
		}, 0, "", 17 + hostRows>>8},
		// Its matrices are 67 MB in the file and 34 MB in fp16, but the time needs neither.
		{"the time of large products", []string{"model", "--timing-only", "FILE.onnx"}, func(*testing.T) []byte {
			const k = 2048
			values := make([]float32, 2*k*k)
			return ox.Model(ox.Input("x", 16, k), ox.Constant("a", []int{k, 2 * k}, values...), ox.Constant("b", []int{2 * k, k}, values...),
				ox.Node("MatMul", "h", []string{"x", "a"}), ox.Node("MatMul", "y", []string{"h", "b"}), ox.Output("y"))
		}, 0, "", 40},
		{"a chain of 1 MB as JSON", []string{"dump", "--json", "FILE.bin"}, small, 0, "", 50},
		{"a chain of 1 MB as text", []string{"dump", "FILE.bin"}, small, 0, "", 50},
		{"a chain of 1 MB, timed", []string{"run", "--timing-only", "FILE.bin"}, small, 0, "", 60},
		{"a long chain, timed, as JSON", []string{"run", "--timing-only", "--json", "FILE.bin"}, long, 0, "", 70},
		{"a long chain, timed, as a page", []string{"run", "--timing-only", "--html", "FILE.html", "FILE.bin"}, long, 0, "", 150},
		{"a long chain, timed, as a profile", []string{"run", "--timing-only", "--pprof", "FILE.pb.gz", "FILE.bin"}, long, 0, "", 80},
		{"a long chain, timed, as a trace", []string{"run", "--timing-only", "--trace", "FILE.trace", "FILE.bin"}, long, 0, "", 80},
		{"a layer of 268 million weights", []string{"layer", "conv", "cin=16384", "cout=16384", "--timing-only"}, nil, 0, "", 40},
		// Weights stand in memory once.
		{"values of a layer of many weights", []string{"layer", "conv", "cin=" + channels, "cout=" + channels}, nil, 0, "", weights*12/10 + 20},
		{"values of a product of many weights", []string{"layer", "matmul", "m=1", "k=" + channels, "n=" + channels}, nil, 0, "", weights*12/10 + 20},
		{"values of a product with a table", []string{"layer", "linear", "m=1", "k=" + channels, "n=" + channels, "act=sigmoid"}, nil, 0, "", weights*12/10 + 20},
		// Each tensor once, in and out: rows are a multiple of 64 bytes.
		{"values of a layer of large tensors", []string{"layer", "relu", "c=16", "h=" + side, "w=" + side}, nil, 0, "", 2*in*11/10 + 19},
		{"values of a window over large tensors", []string{"layer", "conv", "cin=16", "cout=16", "h=" + side, "w=" + side, "k=3", "pad=same"}, nil, 0, "", 2*in*12/10 + 24},
		{"values of ResNet-50", []string{"model", filepath.Join("..", "..", "examples", "resnet50.yaml"), "--values"}, nil, 0, "", 380},
		{"1e9 dispatches", []string{"run", "--repeat", "1000000000", "--json"}, nil, 0, "", 130},
		{"3 GiB of values for a port of 4,096", []string{"layer", "relu", "c=4096", "--in", "x=FILE.f16"}, nil, 3 << 30, "want at most 536870912", 40},
		{"1e9 workers", []string{"sweep", "relu", "c=4", "--workers", "1000000000"}, nil, 0, "want 1 to 4096", 40},
		{"rows without an end", []string{"accuracy", "--csv", "/dev/zero"}, nil, 0, "file exceeds 16777216 bytes", 130},
		{"a sweep to go on with without an end", []string{"sweep", "relu", "c=4", "--resume", "/dev/zero"}, nil, 0, "not a regular file", 40},
		{"a line of rows without an end", []string{"sweep", "relu", "c=4", "--resume", "FILE.csv"}, nil, 1 << 30, "line exceeds 1048576 bytes", 60},
	}
	if os.Getenv("LONG") != "" {
		cases = append(cases,
			hungry{"a long chain, timed", []string{"run", "--timing-only", "FILE.bin"}, long, 0, "", 70},
			hungry{"a long chain, timed, as CSV", []string{"run", "--timing-only", "--csv", "FILE.bin"}, long, 0, "", 70},
			hungry{"a program without an end", []string{"run", "/dev/zero"}, nil, 0, "pipe has more than 268435456 bytes", 700})
	}
	for _, h := range cases {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "x")
			args := append([]string{}, h.args...)
			for i, arg := range args {
				before, ext, ok := strings.Cut(arg, "FILE")
				if !ok {
					continue
				}
				args[i] = before + file + ext
				var data []byte
				if h.data != nil {
					data = h.data(t)
				}
				if err := os.WriteFile(file+ext, data, 0o666); err != nil {
					t.Fatal(err)
				}
				if h.size > 0 {
					if err := os.Truncate(file+ext, h.size); err != nil {
						t.Skip("a large file without data cannot be made here: ", err)
					}
				}
			}
			c := process(t, args...)
			status := filepath.Join(t.TempDir(), "status")
			c.Env = append(c.Env, statusFile+"="+status)
			var errs bytes.Buffer
			c.Stderr = &errs
			err := c.Run()
			if (err == nil) != (h.want == "") || !strings.Contains(errs.String(), h.want) {
				t.Errorf("%v: %.300s", err, errs.String())
			}
			// What wait4 says of it would have what this process had when it forked.
			_, peak, _ := strings.Cut(string(contents(t, status)), "VmHWM:")
			kb, err := strconv.Atoi(strings.Fields(peak)[0])
			if err != nil {
				t.Fatal(err)
			}
			if mb := kb >> 10; mb > h.most {
				t.Errorf("%d MB resident, want at most %d", mb, h.most)
			} else {
				t.Logf("%d MB resident, %v of a processor", mb, c.ProcessState.UserTime()+c.ProcessState.SystemTime())
			}
		})
	}
}

// repeated returns a function that returns the text first, followed by as many copies of again as
// fit in size bytes.
func repeated(first, again string, size int) func(*testing.T) []byte {
	return func(*testing.T) []byte {
		return append([]byte(first), strings.Repeat(again, (size-len(first))/len(again))...)
	}
}

// chainText returns a function that returns a bare chain of n descriptors, which it builds once.
func chainText(n int) func(t *testing.T) []byte {
	make := sync.OnceValues(func() ([]byte, error) {
		p, err := bench.LongChain(n)
		if err != nil {
			return nil, err
		}
		return p.Text, nil
	})
	return func(t *testing.T) []byte {
		t.Helper()
		text, err := make()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}

// A named pipe is read to its end.
func TestRunOfANamedPipe(t *testing.T) {
	b, err := lower.Example("add")
	if err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe.hwx")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("the file system has no named pipes: ", err)
	}
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(pipe, b, 0) }()
	out, errs, code := invoke("run", pipe)
	if code != exitDone || !strings.Contains(out, "elementwise") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}
