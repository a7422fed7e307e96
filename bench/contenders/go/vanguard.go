package main

import (
	"context"
	"errors"
	"net"
	"net/http"

	"connectrpc.com/connect"
	"connectrpc.com/vanguard"

	petstorev1 "peers/gen/petstore/v1"
	"peers/gen/petstore/v1/petstorev1connect"
)

// serveVanguard serves REST by vanguard-go, which transcodes it for a handler of connect-go, as google.api.http says.
func serveVanguard(listener net.Listener, store *Store) error {
	path, handler := petstorev1connect.NewInventoryServiceHandler(&connectInventory{store: store})
	transcoder, err := vanguard.NewTranscoder([]*vanguard.Service{vanguard.NewService(path, handler)})
	if err != nil {
		return err
	}
	return http.Serve(listener, guarded(transcoder, newAdmission(store)))
}

type connectInventory struct {
	petstorev1connect.UnimplementedInventoryServiceHandler
	store *Store
}

func (i *connectInventory) UpdateInventory(
	_ context.Context, request *connect.Request[petstorev1.UpdateInventoryRequest],
) (*connect.Response[petstorev1.UpdateInventoryResponse], error) {
	updated, err := i.store.Update(request.Msg.GetPetId(), request.Msg.GetUpdate().GetQuantity())
	switch {
	case errors.Is(err, errNoPet):
		return nil, connect.NewError(connect.CodeNotFound, err)
	case err != nil:
		return nil, connect.NewError(connect.CodeInternal, errors.New("internal error"))
	}
	return connect.NewResponse(&petstorev1.UpdateInventoryResponse{Item: messageOf(updated)}), nil
}
