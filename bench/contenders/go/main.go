// The inventory in Go, as three peers of the service: on net/http, on grpc-go, and on connect-go with vanguard-go,
// which transcodes REST for it.
//
//	peers http|grpc|vanguard DB NORMAL|FULL
package main

import (
	"fmt"
	"log"
	"net"
	"os"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: peers http|grpc|vanguard DB NORMAL|FULL")
	}
	serve, isKnown := map[string]func(net.Listener, *Store) error{
		"http": serveHTTP, "grpc": serveGRPC, "vanguard": serveVanguard,
	}[os.Args[1]]
	if !isKnown {
		log.Fatalf("unknown peer: %s", os.Args[1])
	}
	store, err := openStore(os.Args[2], os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	log.Fatal(serve(listener, store))
}
