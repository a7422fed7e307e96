package main

import petstorev1 "peers/gen/petstore/v1"

var statuses = map[string]petstorev1.PetStatus{
	"available": petstorev1.PetStatus_PET_STATUS_AVAILABLE,
	"pending":   petstorev1.PetStatus_PET_STATUS_PENDING,
	"sold":      petstorev1.PetStatus_PET_STATUS_SOLD,
}

func messageOf(item Item) *petstorev1.InventoryItem {
	return &petstorev1.InventoryItem{PetId: item.PetID, Quantity: item.Quantity, Status: statuses[item.Status]}
}

func messagesOf(items []Item) []*petstorev1.InventoryItem {
	messages := make([]*petstorev1.InventoryItem, len(items))
	for index, item := range items {
		messages[index] = messageOf(item)
	}
	return messages
}
