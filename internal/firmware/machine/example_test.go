package machine_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"anesim"
	"anesim/internal/firmware/command"
	"anesim/internal/firmware/machine"
	"anesim/internal/scripts"
)

// A script of commands and selectors, played as anesim fw plays it.
func ExampleReadScript() {
	s_, err := machine.ReadScript([]byte(`
model add layer add c=4
client app rights=user-access
call app ANE_DeviceOpen
send control BOOT
call app ANE_ProgramCreate model=add
call app ANE_ProgramPrepare program=1
set 0 x 1.5
set 0 z 2
call app ANE_ProgramSendRequest program=1
expect values 0 y 3.5
close app
`))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := s_.Play(context.Background(), os.Stdout, scripts.Models{Open: anesim.Open}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// model add layer add c=4
	//   -> image at 0x100000000
	// client app rights=user-access
	//   -> Success (0x0)
	// call app ANE_DeviceOpen
	//   -> Success (0x0)
	// send control BOOT
	//   -> ok
	// call app ANE_ProgramCreate model=add
	//   -> Success (0x0)
	// call app ANE_ProgramPrepare program=1
	//   -> Success (0x0)
	// set 0 x 1.5
	// set 0 z 2
	// call app ANE_ProgramSendRequest program=1
	//   @ 0.0 ns: request 1 start, queue 2, program 0, process 0
	//   @ 144.8 ns: request 1 finish, queue 2, program 0, process 0
	//   -> Success (0x0)
	// expect values 0 y 3.5
	// close app
	//   -> closed; user clients: 0
	//
	// ledger: 7 received = 7 answered + 0 refused + 0 dropped; 1 notification, 8 doorbells of the host
	// queues: 1 submitted, 1 finished, 0 aborted, 0 waiting; 1 run of descriptors, 1 switch; busy 144.8 ns of 144.8 ns
	// memory: 0 bytes used; user clients: 0; models at the broker: 0
}

// Commands straight to the controller, without a driver above it.
func ExampleMachine() {
	m, err := machine.New(context.Background(), machine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	image, err := m.Add("identity", anesim.Identity())
	if err != nil {
		log.Fatal(err)
	}
	call := command.Call{OutputSets: 1, Partitions: 1, Requests: 1}
	for _, x := range []struct {
		ch   command.Channel
		id   command.ID
		body []byte
	}{
		{command.Control, command.Boot, nil},
		{command.Control, command.LoadProgram, (&command.Program{Address: image}).Append(nil)},
		{command.Control, command.CreateProcess, call.Append(nil)},
		{command.Execution, command.ProcedureCall, call.Append(nil)},
		{command.Execution, command.UnloadProgram, nil},
	} {
		r := m.Send(x.ch, &command.Message{Header: command.Header{ID: x.id, Priority: 5}, Body: x.body})
		fmt.Printf("%v: %v", x.id, r.Status)
		if r.Why != "" {
			fmt.Print(": ", r.Why)
		}
		fmt.Println()
	}
	l := m.Ledger()
	fmt.Println(l.Received, l.Balanced())
	// Output:
	// BOOT: ok
	// LOAD_PROGRAM: ok
	// CREATE_PROCESS: ok
	// PROCEDURE_CALL: ok
	// UNLOAD_PROGRAM: unsupported: UNLOAD_PROGRAM must be sent on the control channel
	// 5 true
}
