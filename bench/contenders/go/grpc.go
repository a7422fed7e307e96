package main

import (
	"context"
	"errors"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	petstorev1 "peers/gen/petstore/v1"
)

// serveGRPC serves the inventory by grpc-go, with an interceptor for keys and limits.
func serveGRPC(listener net.Listener, store *Store) error {
	server := grpc.NewServer(grpc.UnaryInterceptor(admitCalls(newAdmission(store))))
	petstorev1.RegisterInventoryServiceServer(server, &grpcInventory{store: store})
	return server.Serve(listener)
}

func admitCalls(admission *Admission) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		authorization := ""
		if values := metadata.ValueFromIncomingContext(ctx, "authorization"); len(values) > 0 {
			authorization = values[0]
		}
		limits, err := admission.Admit(authorization)
		if errors.Is(err, errNoKey) {
			return nil, status.Error(codes.Unauthenticated, err.Error())
		}
		headers := metadata.Pairs(
			"x-ratelimit-limit", limits.Limit,
			"x-ratelimit-remaining", limits.Remaining,
			"x-ratelimit-reset", limits.Reset,
		)
		if err := grpc.SetHeader(ctx, headers); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, status.Error(codes.ResourceExhausted, err.Error())
		}
		return next(ctx, request)
	}
}

type grpcInventory struct {
	petstorev1.UnimplementedInventoryServiceServer
	store *Store
}

func (i *grpcInventory) ListInventory(
	context.Context, *petstorev1.ListInventoryRequest,
) (*petstorev1.ListInventoryResponse, error) {
	found, err := i.store.List()
	if err != nil {
		return nil, status.Error(codes.Internal, "internal error")
	}
	return &petstorev1.ListInventoryResponse{Items: messagesOf(found)}, nil
}

func (i *grpcInventory) UpdateInventory(
	_ context.Context, request *petstorev1.UpdateInventoryRequest,
) (*petstorev1.UpdateInventoryResponse, error) {
	updated, err := i.store.Update(request.GetPetId(), request.GetUpdate().GetQuantity())
	switch {
	case errors.Is(err, errNoPet):
		return nil, status.Error(codes.NotFound, err.Error())
	case err != nil:
		return nil, status.Error(codes.Internal, "internal error")
	}
	return &petstorev1.UpdateInventoryResponse{Item: messageOf(updated)}, nil
}
